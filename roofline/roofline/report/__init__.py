"""What `roofline report` writes into its folder: a page, figures, tables, frames, and texts made of them.

`folder` says which files there are; each other module makes one kind of them. `page` writes the page of styles and
scripts of ours (in page/) and of data: `page_data` makes those of all results and of a machine, `case_data` those of a
case, and each other module ending in `_data` a part of them.
"""
