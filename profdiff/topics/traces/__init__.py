"""How long calls of traced functions took."""
