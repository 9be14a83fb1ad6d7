"""The commands of ``profdiff``, one module each."""
