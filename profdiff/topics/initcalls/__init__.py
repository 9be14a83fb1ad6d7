"""How kernels boot: instructions of each initcall, and of the phases of the boot."""
