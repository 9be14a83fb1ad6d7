"""Which fields, variables and parts of the stack the kernels load and store."""
