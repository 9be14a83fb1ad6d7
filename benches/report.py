"""How long ``profdiff report`` takes, with Python's start: shown again, and made.

    python benches/report.py SESSION [--runs N]

Processor time of the whole command, lowest of N, in turn with that of Python alone and of Python
with the libraries that a report is made with. Exits with 1 when a text that is kept takes more than
0.15 s, or one that is made twice the libraries.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from limits import Figure, told
from taken import taken

SHOWN, MADE = 0.15, 2.0


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
    print(f"Python's start takes {python:.3f} s, with the libraries {libraries:.3f} s")
    return told(
        [
            Figure("shown again", f"{shown:.3f} s", shown <= SHOWN, f"{SHOWN} s"),
            Figure("made", f"{made:.3f} s", made <= MADE * libraries, f"{MADE:g} times libraries"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
