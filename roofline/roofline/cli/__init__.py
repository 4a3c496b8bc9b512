"""The commands: a command line comes in; a table, files or messages and an exit code go out.

`program` lists them in the groups of ``--help``. `parameters` has the options that several share, `inputs` reads what
they were given, `output` shows or writes what they have made, and `messages` has what they say beside it.
"""
