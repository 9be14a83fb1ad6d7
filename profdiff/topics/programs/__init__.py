"""Programs as the sides of a comparison: what each executes, and the kernel for it."""
