"""``report --sharing``: which cache lines change hands between vCPUs, as text, CSV and JSON."""
