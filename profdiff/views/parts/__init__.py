"""Several parts beside each other."""
