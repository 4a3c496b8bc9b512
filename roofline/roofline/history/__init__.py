"""Each case over time: results in; levels, the changes between them, a table, a figure and the findings of a gate out.

`series` puts the sessions of a case in order, `change_points` are the statistics, `judged_series` judges every series,
`history_table` and `history_figure` show them.
"""
