"""A report of the 0-day robot: its tables, and what its own numbers say of the slowdown."""
