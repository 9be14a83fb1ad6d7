"""The lines collector: how many distinct cache lines a window accesses, by region."""
