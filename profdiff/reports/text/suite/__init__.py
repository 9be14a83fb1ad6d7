"""The text report of a suite."""
