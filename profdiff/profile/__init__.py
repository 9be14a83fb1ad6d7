"""Counts over stacks, of each kernel and compared."""
