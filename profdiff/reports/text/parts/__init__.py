"""The text report of several parts."""
