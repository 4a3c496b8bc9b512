"""Cases counted by hardware counters: a case's test once more under ncu, and what ncu wrote in the record.

`counting_pass` connects it to pytest and `case_counter` counts one case: by `ncu_run` (one program under ncu, and what
ncu's words mean), `counter_reading` (its files), and `child_request` to the processes: `child` (the test),
`unit_check` (a product of known size). `probe_kernel` is what the pre-flight counts.
"""
