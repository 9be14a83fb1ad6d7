"""Functions: what each costs on every kernel, and how often it is called."""
