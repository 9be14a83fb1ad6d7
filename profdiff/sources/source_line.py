"""A line of a source."""

SourceLine = tuple[str, int]
"""A file, relative to the source tree or repository, and a line from 1."""
