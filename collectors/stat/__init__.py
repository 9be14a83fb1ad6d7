"""The stat collector: counts of events by perf stat."""
