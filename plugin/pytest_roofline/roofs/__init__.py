"""The roofs of a machine: the kernels that measure them, those that a run needs, and those that are kept."""
