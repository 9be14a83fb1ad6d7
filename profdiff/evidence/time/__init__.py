"""Time: what of its change instructions explain."""
