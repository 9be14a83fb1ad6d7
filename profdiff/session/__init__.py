"""The session folder: what was recorded, and of what."""
