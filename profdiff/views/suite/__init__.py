"""A suite."""
