"""A report of the 0-day robot: what its numbers say, and what profdiff can answer."""
