"""``roofline complexity``: a model's name in; parameters, work, memory and the largest batch that fits out."""
