"""Fixture kernels, unpacked once for a test session."""

import sys
from pathlib import Path

# The oracles beside the tests; `pythonpath` in pyproject.toml only names tests/.
sys.path.insert(0, str(Path(__file__).parent))
