"""What a machine can do at most: published figures of devices, and the roofs that a result is held against."""
