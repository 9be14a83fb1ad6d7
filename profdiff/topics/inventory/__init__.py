"""What kind of instructions ran, how often each: returns, locked instructions, jumps taken."""
