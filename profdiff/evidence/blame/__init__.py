"""The delta of a kernel by the commits that made it: blame."""
