"""Traces of torch's profiler: a timeline out."""
