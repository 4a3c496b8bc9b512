"""Hardware counters: metrics in, quantities of kernels out, and the counted work held against them.

Modules, each of which imports those above it alone: `quantities` (the one table of counters, and the metrics of each by
chip), `launch_amounts` (the metrics of a launch, added up), `kernel_kinds` (names of kernels to kinds),
`counted_kernels` (the kernels of a record, and what bounds each), `reconciliation` (counted work against counters).
"""
