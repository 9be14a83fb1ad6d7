"""``report --types``: which data the kernels load and store, as text, CSV and JSON."""
