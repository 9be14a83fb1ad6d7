"""What a change of system calls adds to a real program."""
