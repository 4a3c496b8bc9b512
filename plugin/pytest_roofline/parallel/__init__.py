"""Several processes that measure one case together, as torchrun starts them: in come a place and a device, out go
rounds, decisions and proofs that are the same on every rank.
"""
