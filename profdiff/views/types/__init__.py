"""Which data the kernels load and store, ``profdiff.types/1``."""
