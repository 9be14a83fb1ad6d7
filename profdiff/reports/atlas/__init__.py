"""The web pages of an atlas."""
