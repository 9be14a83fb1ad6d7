"""The documents that ``--json`` writes."""
