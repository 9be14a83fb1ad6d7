"""A step of a series that changes no code that runs says so."""

from itertools import pairwise
from pathlib import Path

import pytest
from equal_code.linked import functions, link
from support import unclaimed
from synthetic import compare
from synthetic_series import rows, source
from synthetic_session import counts_file, exact_session

from profdiff.evidence.same_code import same_code
from profdiff.forms.numbers import Numbers
from profdiff.reports.text import steps
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.symbolization._native import elf_build_id

pytestmark = [pytest.mark.build, pytest.mark.build]

KERNEL = """// kernel.c
int schedule(int i) { return i + 3; }
int executed(int i) { return i + 1; }
int idle(int i) { return i * 5; }
"""
MOVED = 0x1C00000
COUNTS = {"base": 1000, "1-idle": 1000, "2-moved": 1004, "3-other": 1000, "4-large": 2000}
# What the four patches make of it; the last one differs only where nothing runs.
SOURCES = {
    "base": [KERNEL],
    "1-idle": [KERNEL.replace("i * 5", "i * 7")],
    "2-moved": ["// a.c\nint inserted(int i) { return i; }\n", KERNEL],
    "3-other": [KERNEL.replace("i + 1", "i + 2")],
    "4-large": [KERNEL.replace("i + 1", "i + 2"), "// b.c\nint more(int i) { return i; }\n"],
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Of kernels that profdiff built; each executed executed()."""
    (tmp_path / "built").mkdir()
    one = exact_session(
        tmp_path / "s",
        {label: rows({"executed": count}) for label, count in COUNTS.items()},
        files={"kallsyms": b""},
    )
    kernels = []
    for number, kernel in enumerate(one.manifest.kernels):
        elf = link(tmp_path / "built", *SOURCES[kernel.label], flags=["-Wl,--build-id"])
        kernels.append(
            m.replace(
                kernel,
                debug_elf=str(elf),
                build_id=elf_build_id(str(elf)),
                symbols=None,
                source=source(kernel.label, number),
            )
        )
        known = functions(elf)
        (run,) = [run for run in one.manifest.runs if run.kernel == kernel.label]
        told = "".join(f"{at + MOVED:016x} T {name}\n" for name, at in known.items())
        one.path(run.files["kallsyms"]).write_bytes(told.encode())
        counted = counts_file([(known["executed"] + MOVED, COUNTS[kernel.label])])
        one.path(run.files["counts"]).write_bytes(counted)
    one.save(m.replace(one.manifest, kernels=kernels))
    return Session.open(unclaimed(one.folder))


def test_steps_say_that_nothing_that_runs_differs(session: Session) -> None:
    labels = list(COUNTS)
    pairs = list(pairwise(labels))
    assert same_code(session, pairs) == {"1-idle", "2-moved", "4-large"}
    made = compare({label: rows({"executed": count}) for label, count in COUNTS.items()})
    blocks = steps.render(made, None, Numbers(None), 100, session=session)
    lines = [line for block in blocks for line in block.lines]
    said = [n for n, line in enumerate(lines) if "same code in all executed functions" in line]
    # A large step is not compared: the counts say already that something is not the same.
    assert [lines[n - 1].split()[0] for n in said] == ["1-idle", "2-moved"]
    plain = steps.render(made, None, Numbers(None), 100)
    assert not any("same code" in line for block in plain for line in block.lines)


def test_what_cannot_be_compared_is_not_the_same(session: Session) -> None:
    pair = [("base", "1-idle")]
    assert same_code(session, pair)
    elf = Path(session.kernel("1-idle").debug_elf or "")
    content = elf.read_bytes()
    elf.write_bytes(b"no kernel")
    assert not same_code(session, pair)
    elf.unlink()
    assert not same_code(session, pair)
    elf.write_bytes(content)
    assert same_code(session, pair)
    base, first, *others = session.manifest.kernels
    without = m.replace(first, source=None)
    session.save(m.replace(session.manifest, kernels=[base, without, *others]))
    assert not same_code(Session.open(session.folder), pair)
