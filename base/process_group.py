"""A process with all that it started: a group of its own, which ends together."""

import contextlib
import os
import signal
import subprocess
from typing import Any


def end(process: "subprocess.Popen[Any]", patience: float) -> None:
    """Tell the group of ``process``, its leader, to end, and kill it where the leader has not ended
    ``patience`` seconds later."""
    _tell(process, signal.SIGTERM)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        _tell(process, signal.SIGKILL)
        process.wait()


def _tell(process: "subprocess.Popen[Any]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
