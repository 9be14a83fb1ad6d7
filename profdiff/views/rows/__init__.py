"""Flat records, a row for each of something and kernel: for tables that programs read."""
