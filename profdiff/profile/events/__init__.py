"""What happened in the kernel, told by the functions that were entered: ``functions.toml`` says
which."""
