"""What Nsight Compute printed or saved: launches of kernels in, figures of each out."""
