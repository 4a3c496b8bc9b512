"""What is measured: a model by name or of a test, its precision, compilation, batches and one step."""
