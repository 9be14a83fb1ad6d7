"""``profdiff report --layout``: where data lies, as text, CSV and JSON."""
