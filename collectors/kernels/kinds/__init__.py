"""What a kernel's SPEC may be: a file for each kind, and ``registry``, which lists them."""
