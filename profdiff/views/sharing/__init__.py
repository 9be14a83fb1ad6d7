"""Which cache lines change hands between vCPUs, ``profdiff.sharing/1``."""
