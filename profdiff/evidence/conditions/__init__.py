"""Conditions of ``profdiff check``, and how they are judged."""
