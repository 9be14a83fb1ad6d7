"""The timed collector: the workload alone, its times and the metrics that it prints."""
