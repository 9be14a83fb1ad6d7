"""What the numbers prove: metrics by boot, statistics, conditions."""
