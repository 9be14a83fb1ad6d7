"""The perf collector: samples, in guests and on machines."""
