"""The device of a run and the machine around it: selection, memory, clocks, power, energy, CPUs and limits.

In comes the device that was asked for; out come torch's device (`selection`), its `instruments`, the machine as the
record stores it (`host`) and flags for what held it back (`throttling`). `nvml`, `cpus` and `cgroup` read what the
system says; `system` is the machine as the profilers' checks see it.
"""
