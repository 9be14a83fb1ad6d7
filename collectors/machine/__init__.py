"""Machines that are not ours to boot: this one, and others over ssh."""
