"""Figures under roofs: placed points come in, drawings with their axes go out.

`roofline_content` says what a roofline shows. `roofline` draws the roofs of any and the cases of one machine,
`machine_rooflines` those of several, `levels` a case at each level of memory, `operation_bars` a step taken apart.
"""
