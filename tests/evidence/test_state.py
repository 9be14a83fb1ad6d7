"""Whether kernels did the same work in the same state, from what runs left."""

import re
from pathlib import Path

import pytest
from synthetic import manifest

from profdiff.reports import state_lines
from profdiff.session import manifest as m
from profdiff.session.folder import Session
from profdiff.session.points import settings
from profdiff.session.state import State, compare_states

USAGE = (
    "wall_ns 5 user_us 1 system_us 1 minor_faults {faults} major_faults 0 voluntary_switches 2 "
    "involuntary_switches 1 stdout_end 9\n"
)
OBSERVED = "complete {complete}\nprocesses 1\nanon_huge_kib {huge}\nsyscall_mprotect {calls}\n"


def session(folder: Path, files: dict[str, dict[str, str]]) -> Session:
    """A session whose runs left ``files``, by label and name."""
    described = manifest(list(files))
    runs = []
    for run in described.runs:
        paths = {}
        for name, text in files[run.kernel].items():
            (folder / run.id).mkdir(exist_ok=True)
            (folder / run.id / name).write_text(text)
            paths[name] = f"{run.id}/{name}"
        runs.append(m.replace(run, files=paths, exit_status=0))
    return Session(folder, m.replace(described, runs=runs))


def left(
    *, faults: int = 1000, calls: int = 200, huge: int = 0, complete: int = 1, more: str = ""
) -> dict[str, str]:
    return {
        "usage": USAGE.format(faults=faults),
        "observed": OBSERVED.format(calls=calls, huge=huge, complete=complete) + more,
        "stdout": f"done in {faults}.5e-3 s\n",
        "state": "/sys/kernel/mm/transparent_hugepage/enabled always [madvise] never\n",
        "vmstat-before": "pgfault 10\nthp_fault_alloc 0\n",
        "vmstat-after": f"pgfault {faults + 10}\nthp_fault_alloc {huge // 2048}\n",
    }


def compared(folder: Path, **files: dict[str, str]) -> State:
    made = session(folder, files)
    return compare_states(made, settings(made.manifest)[0])


def test_equal_states_are_told_with_their_values(tmp_path: Path) -> None:
    state = compared(tmp_path, a=left(), b=left(faults=1009))
    assert state.differences == []
    assert state.unknown == []
    (line,) = state_lines.lines(state)
    assert line.startswith("same state: 200 system calls (mprotect 200), 1,000 minor faults")
    assert "0 KiB AnonHugePages" in line
    assert "THP madvise" in line
    assert "output but for numbers" in line


@pytest.mark.parametrize(
    ("changed", "what", "values"),
    [
        ({"faults": 1100}, "minor_faults", ("1000", "1100")),
        ({"calls": 201}, "system call mprotect", ("200", "201")),
        ({"huge": 16384}, "anon_huge_kib", ("0", "16384")),
        ({"more": "syscall_futex 3\n"}, "system call futex", (None, "3")),
    ],
)
def test_a_difference_is_named_with_both_values(
    tmp_path: Path, changed: dict[str, int], what: str, values: tuple[str | None, str]
) -> None:
    state = compared(tmp_path, a=left(), b=left(**changed))  # type: ignore[arg-type]
    found = {one.what: tuple(one.values.values()) for one in state.differences}
    assert found[what] == values
    # Above the results, and in capitals.
    assert any(line.startswith("STATE DIFFERS: ") for line in state_lines.lines(state))


def test_other_output_is_other_work(tmp_path: Path) -> None:
    other = {**left(), "stdout": "failed in 3 s\n"}
    state = compared(tmp_path, a=left(), b=other)
    assert [one.what for one in state.differences] == ["output"]


def test_blanks_before_a_shorter_number_are_no_difference(tmp_path: Path) -> None:
    wide, narrow = ({**left(), "stdout": f"time {n:>8} ns\n"} for n in (99, 1000))
    state = compared(tmp_path, a=wide, b=narrow)
    assert "output" in state.equal


def test_long_outputs_are_shown_where_they_part(tmp_path: Path) -> None:
    rule = "-" * 100
    good, bad = ({**left(), "stdout": f"{rule}\nall went {how}\n"} for how in ("well", "wrong"))
    (line, *_) = state_lines.lines(compared(tmp_path, a=good, b=bad))
    assert line == "STATE DIFFERS: output: a ..well, b ..wrong"


def test_what_was_not_seen_to_its_end_is_not_compared(tmp_path: Path) -> None:
    state = compared(tmp_path, a=left(complete=0), b=left(complete=0, calls=999))
    assert state.differences == []
    assert "system calls" in state.unknown


def test_nothing_known_is_said_to_be_unknown(tmp_path: Path) -> None:
    state = compared(tmp_path, a={}, b={})
    assert state.differences == []
    assert "huge pages of the workload" in state.unknown
    assert state.equal == {"exit status": "0"}


@pytest.mark.parametrize("text", ["", "\x00\xff", "a", "a b c d", "complete 1\nsyscall_x -1\n"])
def test_hostile_files_are_no_state(tmp_path: Path, text: str) -> None:
    names = ("usage", "observed", "state", "vmstat-before", "vmstat-after")
    hostile = dict.fromkeys(names, text)
    state = compared(tmp_path, a=hostile, b=left())
    assert all(one.what != "minor_faults" for one in state.differences)


def test_a_file_outside_of_the_session_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (tmp_path / "secret").write_text("complete 1\nsyscall_secret 7\n")
    made = session(folder, {"a": left(), "b": left()})
    (folder / "a-1/observed").unlink()
    (folder / "a-1/observed").symlink_to(tmp_path / "secret")
    state = compare_states(made, settings(made.manifest)[0])
    assert "system call secret" not in {one.what for one in state.differences}


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_numbers_that_are_none(tmp_path: Path, number: str) -> None:
    """What a guest says need not be what a kernel prints."""
    told = {name: re.sub("[0-9]+", number, text) for name, text in left().items()}
    for name in ("vmstat-before", "vmstat-after"):
        told[name] = f"pgfault {number}\n"
    state = compared(tmp_path, a=told, b=told)
    assert {"page faults", "system calls"} <= set(state.unknown)
    assert state_lines.lines(state)
