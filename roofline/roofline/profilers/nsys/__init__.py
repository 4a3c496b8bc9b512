"""Files of Nsight Systems in, a timeline out.

Modules, each of which imports those above it alone: `database` (an SQLite export, opened, and what ran on its GPUs),
`nvtx` (ranges and the kernels launched in them), `sqlite_export` (all of an export), `stats` (what ``nsys stats``
printed), `nsys_file` (whichever a file is).
"""
