"""The code of functions, and its alignment."""
