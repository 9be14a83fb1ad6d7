"""What probes read: the values of variables where functions begin, and what functions return."""
