"""Recordings: what is planned, the runs that are made, and the summary at their end."""
