"""What kernels cost over the points of a sweep, as lines."""
