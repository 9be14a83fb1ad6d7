"""Programs that each measure one idea of the kernel, and the suite files that list them."""
