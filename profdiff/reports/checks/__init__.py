"""What ``profdiff check`` writes for other programs."""
