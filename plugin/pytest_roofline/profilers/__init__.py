"""Other programs that look at a case: torch's profiler (`kineto`), `ncu`, perf; and what this machine lets be measured.

In comes what a case's step is and where a program may be; out come what it counted, or why it can't be used here and
what helps: each check answers with a `diagnosis.Diagnosis`. `tools` finds the programs, `profiler_access` tries them
before any test. `doctor` is the command that looks at the whole machine; `torch_report` tells it of torch.
"""
