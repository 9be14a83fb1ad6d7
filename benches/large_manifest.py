"""How long a report of a session with very many points takes.

    python benches/large_manifest.py [--points N] [--boots B]

Two kernels, each timed in B boots at each of N points of a sweep. Exits with 1 when the report
needs more than the limit, 5 s of CPU for each 20,000 points, or more than 20 times what that of a
tenth of the points needs: then something grows with the square.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from profdiff.evidence.findings import Findings, choose
from profdiff.reports import documents
from profdiff.reports.page import html
from profdiff.reports.text import session as text_session
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.topics.functions.selection import Selection

SECONDS_PER_20_000 = 5.0
MOST_TIMES = 20


def manifest(points: int, boots: int) -> m.Manifest:
    """Of two kernels, the second about 3% slower."""
    runs = [
        m.Run(
            id=f"{label}-p{point + 1}-timed-{boot}",
            kernel=label,
            collector="timed",
            point=point,
            repetition=boot,
            started="2026-01-01T00:00:00Z",
            wall_seconds=1.0,
            files={},
            measured=[
                m.Measured("latency", "ns", "lower", False, [centre + point % 7 + boot % 3 / 10])
            ],
        )
        for label, centre in (("base", 100.0), ("new", 103.0))
        for point in range(points)
        for boot in range(1, boots + 1)
    ]
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff="bench",
        created="2026-01-01T00:00:00Z",
        command=[],
        collectors=["timed"],
        repeat=boots,
        verify=False,
        workload=m.Workload(argv=["x"], guest_argv=["x"], kind="program", files=[]),
        points=[m.Point(parameters={"size": str(point)}, cpus=1) for point in range(points)],
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0),
        kernels=[
            m.Kernel(label=label, spec="x", image_sha256="00" * 32) for label in ("base", "new")
        ],
        runs=runs,
    )


def measure(folder: Path, points: int, boots: int) -> float:
    """Print what the parts of a report take; the seconds of the one as text."""
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest(points, boots)))
    start = time.process_time()
    session = Session.open(folder)
    opened = time.process_time()
    found = Findings.of(session, choose(session.manifest, None))
    gathered = time.process_time()
    size = len(text_session.render(found, Selection(top=20), width=100))
    report = time.process_time() - start
    print(
        f"{points:,} points: report {report:.2f} s (open {opened - start:.2f}, gather "
        f"{gathered - opened:.2f}), {size / 1e6:.2f} MB"
    )
    for name, render in (
        ("JSON", lambda: documents.encode(documents.session_document(found))),
        ("page", lambda: html.render(found)),
    ):
        start = time.process_time()
        size = len(render())
        print(f"  {name} {time.process_time() - start:.2f} s, {size / 1e6:.2f} MB")
    return report


def main() -> int:
    """Measure both sizes and judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--boots", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Libraries are loaded, and not measured.
        measure(Path(folder), 20, options.boots)
        few = measure(Path(folder), options.points // 10, options.boots)
        many = measure(Path(folder), options.points, options.boots)
    limit = SECONDS_PER_20_000 * options.points / 20_000
    met = many <= limit and many <= MOST_TIMES * few
    print(
        f"report of {options.points:,} points {many:.2f} s (limit {limit:.1f} s), "
        f"{many / few:.1f} times that of a tenth (limit {MOST_TIMES}): {'met' if met else 'MISSED'}"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MiB")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
