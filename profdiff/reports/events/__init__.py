"""``report --events``: how often events happened in the kernel, as text, CSV and JSON."""
