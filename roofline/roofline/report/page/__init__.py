"""The page of a report: `page_files` puts styles and scripts of ours (in assets/) and data into a folder.

`page_data` makes the data of all results and of a machine, the folder `panel` those of a case, and each other module
ending in `_data` a part of them. All are plain dicts of texts as `roofline.show` has them; `compact` leaves out of the
files what the scripts can make.
"""
