"""Files of Nsight Systems in, a timeline out.

Modules, each of which imports those above it alone: `sqlite_file` (an SQLite export: its schema, its GPUs, what ran on
them), `nvtx` (ranges and the kernels launched in them), `export_timeline` (the timeline of an export), `stats` (the
timeline of what ``nsys stats`` printed), `nsys_file` (whichever a file is).
"""
