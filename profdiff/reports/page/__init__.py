"""The web pages of a session, of parts, and of a suite."""
