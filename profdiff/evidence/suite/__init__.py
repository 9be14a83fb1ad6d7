"""What a suite measured."""
