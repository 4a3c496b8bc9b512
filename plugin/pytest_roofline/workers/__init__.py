"""Cases measured by other processes than the one that keeps the results: those of pytest-xdist, and one for each case.

In comes which device a process owns, and after each test what its run gained (`gains`); out goes the same into the main
process's run, as if it had measured the case itself.

`role` is which process this is, `device_shares` what it measures on. `xdist_controller` and `xdist_worker` talk through
a `shared_folder`; a `machine_lock` lets one of them measure alone. `isolation` is ``--isolate``, and `isolation_child`
each of its processes.
"""
