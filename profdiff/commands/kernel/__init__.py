"""``profdiff kernel``."""
