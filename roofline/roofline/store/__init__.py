"""A store of very many runs: files in, a Parquet data set out, by machine and day, which SQL asks.

The tables are the frames of `roofline.frames`, each with the run that a row is of: ``cases``, ``rounds``,
``operations``, ``kernels``, ``roofs``, ``machines`` and ``missing``; and ``runs``. Beside them lie the files as they
were (see `roofline.results.stored_runs`). ``TABLE/fingerprint=.../day=.../BATCH.parquet`` has the rows of the runs of
one machine and day that were added together. A file that is written isn't changed any more, and ``runs`` is written
last: a batch without it doesn't count, so that neither several writers nor a killed one need a lock. The tables that
take most of the time to make are made of the files when a query first names one.
"""
