"""What a command takes."""

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Taken(NamedTuple):
    """Seconds that pass, and of all processors."""

    elapsed: float
    processor: float


def taken(*command: str | Path) -> Taken:
    """Run Python with these arguments. What it prints goes nowhere; ends with that if it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )
    end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr + done.stdout)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(end - start, processor)
