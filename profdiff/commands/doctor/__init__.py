"""``profdiff doctor``."""
