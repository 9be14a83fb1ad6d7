"""``profdiff layout``: where fields lie, as text, CSV and JSON."""
