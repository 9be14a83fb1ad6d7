"""What a report claims, in sentences."""
