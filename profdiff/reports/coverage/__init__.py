"""Which source lines executed, as tracefiles and as text."""
