"""The programs of examples/kernelci, as a user starts them."""

import os
import subprocess
import sys
from pathlib import Path


def started(
    name: str, *words: str | Path, env: dict[str, str] | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run one; fails unless it ends with ``status``."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"profdiff.examples.kernelci.{name}", *map(str, words)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    return done
