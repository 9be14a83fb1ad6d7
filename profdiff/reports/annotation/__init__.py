"""``profdiff annotate``: code with counts, as text and JSON."""
