"""What is claimed of a measurement, and the evidence; who looked on meanwhile."""
