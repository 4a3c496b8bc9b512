"""What Nsight Systems exported or printed: a timeline out."""
