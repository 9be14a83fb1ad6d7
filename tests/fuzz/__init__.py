"""Seeded mutations of every input that a stranger can write. ``docs/fuzzing.md``."""
