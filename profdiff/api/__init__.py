"""What ``import profdiff`` offers, on which the command line stands, too: recordings as objects,
and what they hold as tables. ``docs/python.md`` explains it."""
