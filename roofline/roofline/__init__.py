"""Reads pytest-benchmark JSON, places every case on its machine's roofline and judges it."""

__all__: list[str] = []
