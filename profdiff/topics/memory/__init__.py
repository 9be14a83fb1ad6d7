"""What the kernel's allocators give out and take back: slab caches, and pages by order."""
