"""Write the folder of `roofline report`: a page, figures, tables, frames, and texts made of them.

`folder` says which files there are; each other module or folder makes one kind of them, `costs` a table of several.
"""
