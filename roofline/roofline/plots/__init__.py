"""Figures: placed points come in, matplotlib axes and PNG files go out.

`style` and `variants` say how a case looks, `panel` lays out what stands around axes, and `axes` are those of any
roofline. `roofline`, `throughput`, `variability`, `levels` and `operations` draw one figure each; `files` writes them,
and `roofline.plot` draws them for notebooks. Imports run in the reverse of this order.
"""
