"""``python -m profdiff``."""

from profdiff.cli import main

if __name__ == "__main__":
    main()
