"""The statistics: observations of both sides in; the difference, its error and what it shows out.

`effect` has difference and error, `verdict` what they show. `learning` is what earlier sessions tell of the error,
`common_factor` the change that all cases share; `exact` compares what doesn't scatter, and `paired` what two processes
measured in turns.
"""
