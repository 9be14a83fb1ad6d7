"""``profdiff annotate``."""
