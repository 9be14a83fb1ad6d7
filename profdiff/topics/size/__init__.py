"""How many bytes kernels take: sections, functions, types."""
