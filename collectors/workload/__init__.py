"""The workload made ready, and what it says of itself."""
