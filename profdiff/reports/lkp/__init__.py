"""``profdiff lkp``: what a mail of the 0-day robot says, as text, JSON and an experiment file."""
