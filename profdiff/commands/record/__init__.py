"""``profdiff record``."""
