"""What kernels of several pages are launched with."""
