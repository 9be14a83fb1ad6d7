"""What several parts measured, beside each other."""
