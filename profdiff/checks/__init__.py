"""Conditions of ``profdiff check`` judged: over measured metrics, tables of topics, and code."""
