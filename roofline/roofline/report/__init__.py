"""What `roofline report` writes into its folder: figures, tables, frames, and texts made of them.

`folder` says which files there are; each other module makes one kind of them.
"""
