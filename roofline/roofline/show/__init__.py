"""Tables: the columns of every figure, the tables of the commands, and their text in each format."""
