"""The kernels and their machines."""
