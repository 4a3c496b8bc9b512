"""Figures: placed points come in, matplotlib axes and PNG files go out.

`style` says how a case looks, `layout` what stands around axes. The folder `rooflines` has what is drawn under roofs;
`throughput` and `variability` draw one figure each, this one on `row_axes`, with a row for each case. `image_files`
writes figures, and `roofline.plot` draws them for notebooks.
"""
