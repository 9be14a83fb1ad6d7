"""The probe collector: values of functions' variables, by events of the kernel's kprobes."""
