"""The trace collector: how long named functions of the kernel take, by ftrace."""
