"""For how long vCPUs idled, and what gave way to that."""
