"""The page of a report: `page_files` puts styles and scripts of ours (in assets/) and data into a folder.

`page_data` makes the data of all results and of a machine, of what the folder `parts` makes: parts of a section, and
what a case's panel shows. All are plain dicts of texts as `roofline.show` has them (`cells`).
"""
