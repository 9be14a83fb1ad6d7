"""Collectors: whatever records. They run a workload and leave raw files; they know no session."""
