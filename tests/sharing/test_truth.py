"""Which lines change hands of programs whose answers were derived by hand (../shared/truth), on two
kernels that lay the same data out differently and call their functions differently."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import RESTORED, SHARED, profdiff
from tables import Cells, rows, tables

from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest

PROGRAM = SHARED / "truth" / "truth_sharing.c"
OPS = 160
# Ticks, and the ends of the window.
NEAR = 0.05
LEAST = 0.25
# Of both kernels, or of each: transfers per operation, and how many of them are false.
BOTH = ("old", "new")
Found = dict[str, tuple[float, float]]


class Recorded:
    """What ``report --sharing`` says of one mode."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        every = {one["name"]: rows(one) for one in tables(document, "sharing")}
        self.rows, self.held = every["sharing-lines"], every["sharing-locks"]
        self._reads = every["sharing-reads"]
        self.ops = {one["kernel"]: one["ops"] for one in every["sharing-kernels"]}

    def found(self, label: str) -> Found:
        """By what rows are of, those that are no accident."""
        told: dict[str, tuple[float, float]] = {}
        for row in self.rows:
            each = row["transfers"][label] / self.ops[label], row["false"][label] / self.ops[label]
            if each[0] >= LEAST:
                names = [row["type"], row["symbol"], row["field"]]
                unnamed = [row["data"]] if row["sort"] == "unnamed" else names
                told[" ".join([row["sort"], *filter(None, unnamed)])] = each
        return told

    def of_type(self, label: str, type_: str) -> float:
        """All transfers of a type."""
        own = [one for one in self.rows if one["type"] == type_]
        return float(sum(one["transfers"][label] for one in own) / self.ops[label])

    def row(self, name: str) -> Cells:
        """The row that has a field; of several, the one with most transfers."""
        found = [one for one in self.rows if name in one["fields"]]
        return max(found, key=lambda one: sum(one["transfers"].values()))

    def reads(self, row: Cells, field: str) -> dict[str, float]:
        """Of bystanders on its lines."""
        own = [one for one in self._reads if one["row"] == self.rows.index(row)]
        (found,) = [one for one in own if one["read"].endswith(f".{field}")]
        return {label: count / self.ops[label] for label, count in found["reads"].items()}

    def claims(self) -> Iterator[tuple[str, float]]:
        """What is said to differ for certain."""
        for row in self.rows:
            delta = row["transfers_delta"]["new"]
            if delta is not None and abs(delta) > NEAR:
                yield row["fields"][0], delta


@pytest.fixture
def record(old_kernel: Path, newest_kernel: Path, qemu: Qemu, tmp_path: Path) -> Any:
    """A mode on both kernels."""
    if not PROGRAM.is_file():
        pytest.skip("the program ../shared/truth/truth_sharing.c is absent")

    def recorded(mode: str, *more: str) -> Recorded:
        session = tmp_path / f"{mode}.profdiff"
        kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={newest_kernel}"]
        # Tasks that wait by sched_yield() would stop at each one where they are observed.
        options = ["--collector", "sharing", "--cpus", "2", "--no-observe", "--ops", OPS]
        options += [*more, *kernels]
        profdiff("record", *RESTORED, *options, "-o", session, "--", PROGRAM, mode, OPS)
        profdiff("report", session, "--sharing", "--json", tmp_path / "sharing.json")
        return Recorded(json.loads((tmp_path / "sharing.json").read_text()))

    return recorded


def near(wanted: Found) -> Any:
    """About that, and nothing else."""
    return {name: pytest.approx(each, abs=NEAR) for name, each in wanted.items()}


POSITION = {"field file f_pos_lock": (1.0, 0.0)}
PAGE = {"field folio _refcount": (1.0, 0.0)}
MAPPED = {"user-memory mapped": (1.0, 1.0)}
LOCK = {"field files_struct file_lock": (1.0, 0.0)}


@pytest.mark.parametrize(
    ("mode", "more", "answers"),
    [
        pytest.param("own", (), ({}, {}), marks=pytest.mark.nightly),
        pytest.param("apart", (), ({}, {}), marks=pytest.mark.nightly),
        pytest.param("user", (), (MAPPED, MAPPED), marks=pytest.mark.nightly),
        (
            "same",
            (),
            (
                {"field file f_count": (1.0, 0.0), **POSITION},
                {"field file f_ref": (1.0, 0.0), **POSITION},
            ),
        ),
        # The program's own variable, by its name.
        pytest.param(
            "private",
            (),
            ({"user-memory truth_sharing PN": (1.0, 1.0)},) * 2,
            marks=pytest.mark.nightly,
        ),
        pytest.param("futex-near", (), ({**PAGE, **MAPPED},) * 2, marks=pytest.mark.nightly),
        pytest.param("futex-far", (), (PAGE, PAGE), marks=pytest.mark.nightly),
        pytest.param(
            "futex-far",
            ("--line-size", "128"),
            ({**PAGE, **MAPPED},) * 2,
            marks=pytest.mark.nightly,
        ),
        ("dup-far", (), (LOCK, LOCK)),
        pytest.param(
            "dup-near",
            (),
            ({**LOCK, "field files_struct fd_array[]": (1.0, 1.0)},) * 2,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_the_lines_are_those_that_the_program_shares(
    record: Any, mode: str, more: tuple[str, ...], answers: tuple[Found, Found]
) -> None:
    recorded: Recorded = record(mode, *more)
    for label, wanted in zip(BOTH, answers, strict=True):
        assert recorded.found(label) == near(wanted), label
    # The counter of references has another name, nothing else differs.
    assert {name for name, _ in recorded.claims()} <= {"file.f_count", "file.f_ref"}
    if mode == "dup-far":
        # Each vCPU waits for the lock's line once an operation, whatever it then reads there.
        row = recorded.row("files_struct.file_lock")
        assert recorded.reads(row, "fd_array[]") == pytest.approx(
            {"old": 0.5, "new": 0.5}, abs=NEAR
        )
        for label in BOTH:
            waits = row["bystander_reads"][label] / recorded.ops[label]
            assert waits == pytest.approx(1, abs=NEAR)


def test_a_pipe_is_the_same_data_whatever_its_functions_are_called(record: Any) -> None:
    """pipe_write() is anon_pipe_write(), and tmp_page has moved to the line of head and tail."""
    recorded: Recorded = record("pipe")
    assert recorded.of_type("old", "pipe_inode_info") == pytest.approx(6, abs=NEAR)
    assert recorded.of_type("new", "pipe_inode_info") == pytest.approx(4, abs=NEAR)
    # Rings of 16 slots of 40 bytes, whose lines each task touches and writes as often.
    for label in BOTH:
        assert recorded.of_type(label, "pipe_buffer") == pytest.approx(2.5, abs=NEAR)
    ring = recorded.row("pipe_inode_info.head")
    assert {f"pipe_inode_info.{one}" for one in ("tail", "tmp_page")} <= {*ring["fields"]}
    claims = dict(recorded.claims())
    own = {name: delta for name, delta in claims.items() if name.startswith("pipe")}
    assert own == {ring["fields"][0]: pytest.approx(-2, abs=NEAR)}
    # Data without a name is the same, too; and nothing is called a change of its function's name.
    assert not [name for name in claims if name.startswith("?")]
    # Each task has lines of its own: what wakes a task up is the same on both kernels.
    for name in ("task_struct.sched_remote_wakeup", "task_struct.__state"):
        sums = recorded.row(name)["transfers"]
        each = [sums[label] / recorded.ops[label] for label in BOTH]
        assert each[0] == pytest.approx(each[1], abs=NEAR)
    # A reader waits once for a line, however often it then reads there.
    assert (
        recorded.row("task_struct.__state")["bystander_reads"]["old"] <= 2 * (recorded.ops["old"])
    )
    # Locks that only one kernel's lines have are not called a change.
    named = {one["lock"] for one in recorded.held if one["lock"].endswith(".mutex")}
    assert named == {"pipe_inode_info.mutex"}
    for one in recorded.held:
        counts = [one["times"][label] for label in BOTH]
        if not all(counts) and one["lock"].startswith("runqueues"):
            assert one["instructions_delta"] == {"new": None}
