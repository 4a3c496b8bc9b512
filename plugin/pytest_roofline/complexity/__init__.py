"""``roofline complexity``: what a model will need, before anything is measured. On fake tensors: no memory, no data."""
