"""How long ``profdiff report`` takes, with Python's start: shown again, and made; and the end of
``profdiff record``, behind its last run.

    python benches/report.py SESSION [--runs N]

Processor time of the whole command, lowest of N, in turn with that of Python alone and of Python
with the libraries that a report is made with. Record's end is that of a copy of the session which
keeps nothing of its kernels: it finds names, code, functions and events anew, and says what
changed. Exits with 1 when a text that is kept takes more than 0.15 s, one that is made twice the
libraries, or record's end more than 0.2 s for each run.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from limits import Figure, told
from msgspec.structs import replace
from taken import taken

from profdiff.session.session import Session

SHOWN, MADE, ENDED = 0.15, 2.0, 0.2
_END = """
import sys
from pathlib import Path
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.commands.record import conclude
from profdiff.reports import forms
from profdiff.session.session import Session

session = Session.open(Path(sys.argv[1]))
if sys.argv[2:]:
    sys.exit()
kernels = [KernelFiles(one.label, one.spec) for one in session.manifest.kernels]
conclude(session, kernels, whole=True)
"""


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = ["-m", "profdiff", "report", options.session]
        commands: list[list[str | Path]] = [
            ["-c", "pass"],
            ["-c", "import numpy, msgspec, click"],
            report,
            [*report, "--text", Path(folder) / "text"],
        ]
        for command in commands:
            taken(*command)
        found = [[taken(*one).processor for one in commands] for _ in range(options.runs)]
    python, libraries, shown, made = map(min, zip(*found, strict=True))
    ended = min(_ended(options.session) for _ in range(3))
    runs = len(Session.open(options.session).manifest.runs)
    print(f"Python's start takes {python:.3f} s, with the libraries {libraries:.3f} s")
    return told(
        [
            Figure("shown again", f"{shown:.3f} s", shown <= SHOWN, f"{SHOWN} s"),
            Figure("made", f"{made:.3f} s", made <= MADE * libraries, f"{MADE:g} times libraries"),
            Figure("record's end", f"{ended:.2f} s", ended <= ENDED * runs, f"{ENDED} s a run"),
        ]
    )


def _ended(recorded: Path) -> float:
    with tempfile.TemporaryDirectory(dir=recorded.absolute().parent) as folder:
        copy = Path(folder) / recorded.name
        ignored = shutil.ignore_patterns("symbols")
        shutil.copytree(recorded, copy, copy_function=os.link, ignore=ignored)
        session = Session.open(copy)
        manifest = session.manifest
        kernels = [replace(one, symbols=None, code=None, accesses=None) for one in manifest.kernels]
        session.save(replace(manifest, kernels=kernels, functions=None, events=None))
        opened = taken("-c", _END, copy, "only opened").processor
        return taken("-c", _END, copy).processor - opened


if __name__ == "__main__":
    sys.exit(main())
