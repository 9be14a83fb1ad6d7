"""The sharing collector: which cache lines change hands between vCPUs."""
