"""What rounds say: the step time, its margin, and the means of what the machine told meanwhile."""
