"""What compilers make of the same source."""
