"""Where the data lies that a workload accessed: fields of types, and variables."""
