"""A child that may take little: what has no bound fails there, and not on the machine."""

import subprocess
import sys
from pathlib import Path

from support import IMPORTED

#: A Python that has loaded the module takes 0.3 GB and half a second.
MEMORY = 1 << 30
CPU_SECONDS = 8

_LIMITS = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))
import numpy as np
from profdiff.symbolization._native import *
try:
"""


def run_bounded(script: str, path: Path) -> str:
    """What a bounded process prints that runs `script` on `path` (``sys.argv[1]``), or the
    NativeError that it raises."""
    body = "".join(f"    {line}\n" for line in script.strip().splitlines())
    whole = f"{_LIMITS}{body}except NativeError as error:\n    print(error)\n"
    result = subprocess.run(
        [sys.executable, "-c", whole, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(IMPORTED), "PYTHONSAFEPATH": "1"},
    )
    assert result.returncode == 0, f"status {result.returncode}: {result.stderr[-500:]}"
    return result.stdout.strip()
