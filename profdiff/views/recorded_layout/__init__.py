"""Where the data of a recording lies, ``profdiff.recorded-layout/1``."""
