"""Where the data and the code of a recording lie, ``profdiff.recorded-layout/1``."""
