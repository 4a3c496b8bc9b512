"""Read what Nsight Compute printed or saved: files in, kernels with their amounts out.

Modules, each of which imports those above it alone: `installation` (where ncu is), `values` (numbers and units as ncu
writes them), `launches` (launches with metrics, joined from several files), `csv_lines` and `csv_pages` (what ``ncu
--csv`` printed), `rep_file` (.ncu-rep), `kernel_sums` (any of these files, and the sums), `ncu_tables` (what is shown).
"""
