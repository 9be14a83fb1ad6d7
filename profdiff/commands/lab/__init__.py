"""``profdiff lab``."""
