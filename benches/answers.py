"""What the answers about time cost: events, coverage, a report of the robot's, a trace.

    python benches/answers.py SESSION [--runs N]

Processor time, medians of N: what `report --events` and `coverage` take on a session of exact
counts, beside `report`; `lkp` on each mail of tests/lkp/mails; and reading function_graph's text of
a million calls. Exits with 1 when a limit is missed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from limits import Figure, told
from taken import taken

from profdiff.symbolization._native import traced_calls

MAILS = Path(__file__).resolve().parent.parent / "tests/lkp/mails"
CALLS = 1_000_000
# Beside a report; alone; of one mail; of a million calls.
EVENTS, COVERAGE, MAIL, TRACE = 0.5, 5.0, 1.0, 1.0


def traced() -> float:
    """Processor time to read a million calls of three functions."""
    text = b"".join(
        b" %d)   %d.%03d us    |  function_%d();\n" % (at % 2, at % 90, at % 1000, at % 3)
        for at in range(CALLS)
    )
    before = time.process_time()
    found, _ = traced_calls(text, [f"function_{number}" for number in range(3)])
    taken = time.process_time() - before
    if len(found) != CALLS:
        raise SystemExit(f"{len(found):,} of {CALLS:,} calls were read")
    return taken


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("session", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()

    def median(*command: str | Path) -> float:
        return statistics.median(
            taken("-m", "profdiff", *command).processor for _ in range(asked.runs)
        )

    with tempfile.TemporaryDirectory() as folder:
        report = median("report", asked.session, "--text", Path(folder) / "text")
        events = median("report", asked.session, "--events")
        coverage = median("coverage", asked.session, "-o", Path(folder) / "coverage")
    slowest, name = max((median("lkp", mail), mail.name) for mail in MAILS.glob("*.eml"))
    trace = statistics.median(traced() for _ in range(asked.runs))
    sys.exit(
        told(
            [
                Figure("report", f"{report:.2f} s", True, "none"),
                Figure("--events", f"{events:.2f} s", events - report <= EVENTS, f"+{EVENTS:g} s"),
                Figure("coverage", f"{coverage:.2f} s", coverage <= COVERAGE, f"{COVERAGE:g} s"),
                Figure(f"lkp {name}", f"{slowest:.2f} s", slowest <= MAIL, f"{MAIL:g} s"),
                Figure("million calls", f"{trace:.2f} s", trace <= TRACE, f"{TRACE:g} s"),
            ]
        )
    )


if __name__ == "__main__":
    main()
