"""``profdiff report --layout``: where data and code lie, as text, CSV and JSON."""
