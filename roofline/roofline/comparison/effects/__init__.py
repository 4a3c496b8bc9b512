"""The statistics: observations of both sides in; the difference, its error and what it shows out.

`effect` has difference and error, `verdict` what they show. `common_factor` is the change that all cases share, `exact`
compares what doesn't scatter, and `paired` what two processes measured in turns.
"""
