"""What functions cost."""
