"""The text report, and its tables."""
