"""Define what stands in files: the record of a case, the run around it, and expected bounds.

Bytes and pytest-benchmark's JSON come in, typed objects go out; and back.
"""
