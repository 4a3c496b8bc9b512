"""The limits of a machine: published figures of devices, and the roofs that a result is held against."""
