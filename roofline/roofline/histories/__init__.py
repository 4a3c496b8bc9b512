"""Each case over time: results in; levels, the changes between them, a table, a figure and the findings of a gate out.

`series` puts the sessions of a case in order, `level_model` fits levels, `change_points` finds the steps between them,
`judged_series` judges every series, `history_table` and `history_figure` show them.
"""
