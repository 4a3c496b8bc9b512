"""A step taken apart: a placed point comes in, tables of its operations and kernels go out.

`step_notes` has what stands below them, and titles that figures have, too.
"""
