"""``profdiff blame``: suspect commits, as text and JSON."""
