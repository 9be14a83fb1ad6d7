"""A change that rests on how repeated string instructions (rep) count says so wherever it is
told."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import RESTORED, profdiff
from synthetic import Row, frame
from synthetic_joint import part
from synthetic_states import OPS, varied

from profdiff.collectors.guest.qemu import Qemu
from profdiff.reports import suite_document
from profdiff.reports.text.suite import render
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

SENDER = ("--from", "A <a@example.org>")
EACH = "with each iteration of repeated string instructions counted"


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, [OPS * count for count in counts])


def with_iterations(session: Session, extra: Mapping[str, int]) -> Session:
    """The same with so many iterations per op, by label, that counts leave out."""
    runs = []
    for run in session.manifest.runs:
        total = int(run.measured[0].values[0])
        counted = m.Instructions(
            kernel=total, user=0, each_iteration=total + OPS * extra[run.kernel]
        )
        runs.append(m.replace(run, instructions=counted))
    session.save(m.replace(session.manifest, runs=runs))
    return Session.open(session.folder)


@pytest.fixture(scope="module")
def spawn(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """The base clears pages by one ``rep stosb`` each, the other kernel by a loop of less: 1.195
    times the instructions, and 7.6% fewer with each iteration counted."""
    rows = {"base": [_row("clear_page", 1000)], "new": [_row("clear_page", 1195)]}
    made = varied(tmp_path_factory.mktemp("spawn") / "s", rows)
    return with_iterations(made, {"base": 4000, "new": 3425})


def _text(session: Session, *arguments: str) -> str:
    return " ".join(profdiff("report", session.folder, *arguments).stdout.split())


def test_the_first_sentence(spawn: Session) -> None:
    first = _text(spawn).partition(". workload: ")[0]
    assert (
        "new executes 1.195 times the instructions of base in this workload: +195,000 "
        f"(+19.5%, but -7.6% {EACH})" in first
    )


def test_json_and_page(spawn: Session) -> None:
    shown = json.loads(profdiff("report", spawn.folder, "--json", "-").stdout)
    change = shown["experiment"]["results"][0]["kernels"][1]["change"]
    assert change["iterated"] == pytest.approx(4620 / 5000 - 1)
    assert f"-7.6% {EACH}" in shown["answers"][0]
    assert "-7.6% with each rep iteration" in shown["heading"]


def test_the_mail(spawn: Session) -> None:
    mail = profdiff("mail", spawn.folder, *SENDER).stdout
    head, _, body = mail.partition("\n\n")
    subject = " ".join(head.split("Subject: ")[1].split())
    assert "-7.6% with each rep iteration" in subject.partition(" Message-ID")[0]
    assert f"but -7.6% {EACH}" in " ".join(body.split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("condition", "status", "word"),
    [
        ("instructions > +5%", 125, "inconclusive"),
        ("instructions > +100000", 125, "inconclusive"),
        ("instructions > +10/op", 125, "inconclusive"),
        ("instructions > +30%", 0, "passes"),
        ("instructions < -20%", 0, "passes"),
    ],
)
def test_check(spawn: Session, condition: str, status: int, word: str) -> None:
    done = profdiff("check", spawn.folder, "--fail-if", condition, status=status)
    assert done.stdout.startswith(word)
    assert f"-7.6% {EACH}" in " ".join(done.stdout.split())


def test_iterations_that_both_execute_decide_nothing(tmp_path: Path) -> None:
    """They make the base larger: that is said, and the check stands."""
    rows = {"base": [_row("f", 1000)], "new": [_row("f", 1195)]}
    session = with_iterations(varied(tmp_path / "s", rows), {"base": 4000, "new": 4000})
    assert f"+19.5%, but +3.9% {EACH}" in _text(session)
    done = profdiff("check", session.folder, "--fail-if", "instructions > +5%", status=1)
    assert f"+3.9% {EACH}" in " ".join(done.stdout.split())


def test_both_counts_alike_say_nothing(tmp_path: Path) -> None:
    rows = {"base": [_row("f", 1000)], "new": [_row("f", 1195)]}
    session = with_iterations(varied(tmp_path / "s", rows), {"base": 100, "new": 120})
    assert EACH not in _text(session)
    assert EACH not in profdiff("mail", session.folder, *SENDER).stdout
    done = profdiff("check", session.folder, "--fail-if", "instructions > +5%", status=1)
    assert EACH not in done.stdout


def test_as_many_instructions_can_be_more(tmp_path: Path) -> None:
    rows = {"base": [_row("f", 1000)], "new": [_row("f", 1000)]}
    session = with_iterations(varied(tmp_path / "s", rows), {"base": 0, "new": 30})
    assert f"exactly as many instructions as base, but +3.0% {EACH}" in _text(session)


def test_a_sweep_names_the_points(tmp_path: Path) -> None:
    rows = {"base": [_row("f", 1000, 1000)], "new": [_row("f", 1300, 1100)]}
    points = [m.Point({"size": str(size)}, 1, OPS) for size in (4, 400)]
    session = part(tmp_path / "s", rows, points)
    with_iterations(session, {"base": 4000, "new": 3425})
    told = " ".join(_text(Session.open(session.folder)).split())
    assert "with each iteration counted, changes are: " in told and "-9.5% at size 400" in told


def test_cells_of_a_suite(tmp_path: Path) -> None:
    described = [SuiteWorkload(name, ["mm"], "call") for name in ("spawn", "read")]
    suite = Suite.create(tmp_path / "S", "s", ["profdiff", "record", "--suite", "s"], described)
    rows = {"base": [_row("f", 1000)], "new": [_row("f", 1195)]}
    with_iterations(varied(suite.part("spawn"), rows), {"base": 4000, "new": 3425})
    with_iterations(varied(suite.part("read"), rows), {"base": 0, "new": 0})
    document = suite_document.build(Suite.open(tmp_path / "S"))
    spawn, read = (cell.changes["new"].iterated for cell in document.cells)
    assert spawn == pytest.approx(4620 / 5000 - 1) and read is None
    assert f"; 1 cell changes otherwise {EACH}; " in document.sentence
    lines = render(document, "S", width=200, top=20).splitlines()
    assert f"{EACH}: spawn -7.6%" in lines
    told = profdiff("report", tmp_path / "S", "--csv", "-").stdout
    each = {
        row["cell"]: row["iterated"] for row in csv.DictReader(io.StringIO(told)) if row["delta"]
    }
    assert each["spawn"].startswith("-0.07") and each["read"] == ""
    done = profdiff("check", tmp_path / "S", "--fail-if", "instructions > +5%", status=1)
    outcomes = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in outcomes[:2]] == ["inconclusive", "fails"]


# On the older kernel one rep stosb of 100,000 bytes, on the newer one a loop of 2,000 turns.
_PROGRAM = r"""
#include <string.h>
#include <sys/utsname.h>
#include "profdiff.h"

static char bytes[100000];

int main(void)
{
	struct utsname name;
	uname(&name);
	memset(bytes, 1, sizeof bytes);
	PROFDIFF_START();
	if (name.release[2] == '1' && name.release[3] == '2') {
		void *to = bytes;
		unsigned long count = sizeof bytes;
		asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
	} else {
		unsigned long count = 2000;
		asm volatile("1: dec %0; jnz 1b" : "+r"(count));
	}
	PROFDIFF_STOP();
	return 0;
}
"""


def test_of_guests(old_kernel: Path, new_kernel: Path, qemu: Qemu, tmp_path: Path) -> None:
    """Of a known program: some 3,998 instructions more, and 96,000 fewer with each iteration."""
    (tmp_path / "clear.c").write_text(_PROGRAM)
    kernels = [f"--kernel=old={old_kernel}", f"--kernel=new={new_kernel}"]
    command = ["record", *RESTORED, *kernels, "-o", "s.profdiff", "--", "clear.c"]
    profdiff(*command, cwd=tmp_path)
    session = Session.open(tmp_path / "s.profdiff")
    counted = {run.kernel: run.instructions for run in session.manifest.runs if not run.state}
    old, new = counted["old"], counted["new"]
    assert old and new and old.each_iteration and new.each_iteration
    left_out = [one.each_iteration - one.kernel - one.user for one in (old, new)]
    assert left_out[0] - left_out[1] == pytest.approx(100_000, abs=9_000)
    shown = f"{100 * (new.each_iteration / old.each_iteration - 1):+.1f}%"
    assert shown.startswith("-9")
    assert f"{shown} {EACH}" in _text(session).partition(". workload: ")[0]
    own = _text(session, "--user-only").partition(". workload: ")[0]
    assert "in user space" in own and EACH in own
    for what in ("total", "user", "main"):
        condition = f"instructions:{what} > +5%"
        done = profdiff(
            "check", session.folder, "--kernel", "new", "--fail-if", condition, status=125
        )
        assert EACH in " ".join(done.stdout.split()), what
