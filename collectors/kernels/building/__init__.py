"""Building kernels from a git repository: trees, configs, compilers, make, and what is kept."""
