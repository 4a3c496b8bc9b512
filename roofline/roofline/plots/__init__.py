"""Figures: placed points come in, matplotlib axes and PNG files go out.

`style` and `variants` say how a case looks; `axes` are those of any roofline; `roofline`, `throughput`, `levels` and
`operations` draw one figure each; `files` writes them. Imports run in the reverse of this order.
"""
