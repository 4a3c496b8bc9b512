"""The commands: a command line comes in; a table, files or messages and an exit code go out.

`program` lists them in the groups of ``--help``; the two large groups have a folder each. `parameters` has the options
that several share, `inputs` reads what they were given, `output` shows or writes what they have made, `console` has
what they say beside it.
"""
