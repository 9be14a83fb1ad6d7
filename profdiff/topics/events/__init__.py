"""Events of the kernel: context switches, faults, allocations, waits, how often each happened."""
