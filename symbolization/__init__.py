"""Symbolization: addresses to chains of functions, inlined ones too."""
