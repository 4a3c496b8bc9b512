"""Figures: placed points come in, matplotlib axes and PNG files go out.

`style` says how a case looks, `layout` what stands around axes, `roofline_content` what a roofline shows, and
`roofline_axes` are the axes of any; `row_axes` are those of a row for each case.
`roofline`, `machine_rooflines`, `throughput`, `variability`, `levels` and `operation_bars` draw one figure each;
`image_files` writes them, and `roofline.plot` draws them for notebooks. Imports run in the reverse of this order.
"""
