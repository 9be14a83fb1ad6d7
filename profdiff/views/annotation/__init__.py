"""Code with counts."""
