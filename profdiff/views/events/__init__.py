"""Events of the kernel."""
