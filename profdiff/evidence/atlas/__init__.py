"""What any number of recordings say of releases: each cell's line over them, and its steps."""
