"""What NVIDIA's and torch's profilers recorded, read back: one module a format, and what is concluded from them."""
