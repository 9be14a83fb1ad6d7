"""Whether kernels did the same work in the same state, from what runs left."""

import re
from pathlib import Path

import pytest
from synthetic import manifest

from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.state import State, compare_states
from profdiff.views.kernels.state import lines, points

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
    return compare_states(made)


def test_equal_states_are_told_with_their_values(tmp_path: Path) -> None:
    state = compared(tmp_path, a=left(), b=left(faults=1009))
    assert state.differences == {}
    assert state.unknown == []
    (line,) = lines(state)
    assert line.kind == "same"
    assert line.text.startswith("same state: 200 system calls (mprotect 200), 1,000 minor faults")
    assert "no AnonHugePages" in line.text
    assert "THP madvise" in line.text
    assert "output equal apart from numbers" in line.text


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
    found = {what: tuple(by_label.values()) for what, by_label in state.differences.items()}
    assert found[what] == values
    # Above the results, and in capitals.
    assert any(line.text.startswith("STATE DIFFERS: ") for line in lines(state))


BUGS = "/sys/devices/system/cpu/vulnerabilities/"


def with_bugs(**known: str) -> dict[str, str]:
    """As a guest's facts.sh lists them."""
    own = left()
    more = "".join(f"{BUGS}{name} {value}\n" for name, value in known.items())
    return {**own, "state": own["state"] + more}


def test_mitigations_are_state(tmp_path: Path) -> None:
    """Texts as bugs.c of 6.1 and of 6.12 has them: the older one knows less."""
    older = "Mitigation: Retpolines, STIBP: disabled, RSB filling, PBRSB-eIBRS: Not affected"
    newer = "Mitigation: Retpolines; STIBP: disabled; RSB filling; BHI: Not affected"
    state = compared(
        tmp_path,
        a=with_bugs(spectre_v2=older, mds="Vulnerable", l1tf="Not affected"),
        b=with_bugs(spectre_v2=newer, mds="Vulnerable", l1tf="Not affected", tsa="Not affected"),
    )
    assert state.differences == {}
    (line,) = lines(state)
    assert "mitigated: spectre_v2; unmitigated: mds" in line.text


@pytest.mark.parametrize(
    ("base", "new", "differs"),
    [
        ({"srso": "Vulnerable"}, {"srso": "Mitigation: Safe RET"}, True),
        ({}, {"vmscape": "Mitigation: IBPB before exit to userspace"}, True),
        ({}, {"vmscape": "Vulnerable"}, False),
        ({}, {"vmscape": "Not affected"}, False),
        ({"mds": "Mitigation: A"}, {"mds": "Mitigation: A; SMT disabled"}, True),
    ],
)
def test_a_kernel_that_mitigates_more_is_in_another_state(
    tmp_path: Path, base: dict[str, str], new: dict[str, str], *, differs: bool
) -> None:
    state = compared(tmp_path, a=with_bugs(**base), b=with_bugs(**new))
    assert bool(state.differences) == differs
    assert any("STATE DIFFERS: mitigation" in line.text for line in lines(state)) == differs


def test_where_mitigations_differ_none_is_said_to_be_needless(tmp_path: Path) -> None:
    same = with_bugs(mds="Not affected")
    assert "no mitigation is needed" in lines(compared(tmp_path, a=same, b=same))[-1].text
    on, off = (
        with_bugs(mds="Not affected", srso=value)
        for value in ("Mitigation: Safe RET", "Vulnerable")
    )
    told = [line.text for line in lines(compared(tmp_path, a=on, b=off))]
    assert any("STATE DIFFERS: mitigation srso" in text for text in told)
    assert not any("no mitigation is needed" in text for text in told)


def test_one_huge_page_is_another_state_than_none(tmp_path: Path) -> None:
    state = compared(tmp_path, a=left(), b=left(huge=2048))
    assert set(state.differences) == {"anon_huge_kib", "vmstat thp_fault_alloc"}


def test_other_output_is_other_work(tmp_path: Path) -> None:
    other = {**left(), "stdout": "failed in 3 s\n"}
    state = compared(tmp_path, a=left(), b=other)
    assert list(state.differences) == ["output"]


def test_blanks_before_a_shorter_number_are_no_difference(tmp_path: Path) -> None:
    wide, narrow = ({**left(), "stdout": f"time {n:>8} ns\n"} for n in (99, 1000))
    state = compared(tmp_path, a=wide, b=narrow)
    assert "output" in state.equal


def test_long_outputs_are_shown_where_they_part(tmp_path: Path) -> None:
    rule = "-" * 100
    good, bad = ({**left(), "stdout": f"{rule}\nall went {how}\n"} for how in ("well", "wrong"))
    (line, *_) = lines(compared(tmp_path, a=good, b=bad))
    assert line.text == "STATE DIFFERS: output: a ..well, b ..wrong"


def test_what_was_not_seen_to_its_end_is_not_compared(tmp_path: Path) -> None:
    state = compared(tmp_path, a=left(complete=0), b=left(complete=0, calls=999))
    assert state.differences == {}
    assert "system calls" in state.unknown


def test_nothing_known_is_said_to_be_unknown(tmp_path: Path) -> None:
    state = compared(tmp_path, a={}, b={})
    assert state.differences == {}
    assert "huge pages of the workload" in state.unknown
    assert state.equal == {"exit status": "0"}


@pytest.mark.parametrize("text", ["", "\x00\xff", "a", "a b c d", "complete 1\nsyscall_x -1\n"])
def test_hostile_files_are_no_state(tmp_path: Path, text: str) -> None:
    names = ("usage", "observed", "state", "vmstat-before", "vmstat-after")
    hostile = dict.fromkeys(names, text)
    state = compared(tmp_path, a=hostile, b=left())
    assert "minor_faults" not in state.differences


def test_a_file_outside_of_the_session_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (tmp_path / "secret").write_text("complete 1\nsyscall_secret 7\n")
    made = session(folder, {"a": left(), "b": left()})
    (folder / "a-1/observed").unlink()
    (folder / "a-1/observed").symlink_to(tmp_path / "secret")
    state = compare_states(made)
    assert "system call secret" not in state.differences


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_numbers_that_are_none(tmp_path: Path, number: str) -> None:
    """What a guest says need not be what a kernel prints."""
    told = {name: re.sub("[0-9]+", number, text) for name, text in left().items()}
    for name in ("vmstat-before", "vmstat-after"):
        told[name] = f"pgfault {number}\n"
    state = compared(tmp_path, a=told, b=told)
    assert {"page faults", "system calls"} <= set(state.unknown)
    assert lines(state)


HUGE = "AnonHugePages of the workload (KiB)"


def swept(folder: Path, by_point: list[dict[str, dict[str, str]]], varied: str = "size") -> State:
    """The state of a session whose points left, by label, these files."""
    labels = list(by_point[0])
    made = session(folder, {label: {} for label in labels})
    runs = []
    for point, by_label in enumerate(by_point):
        for label, files in by_label.items():
            run = m.replace(made.manifest.runs[labels.index(label)], point=point)
            place = folder / f"{label}-p{point}"
            place.mkdir()
            for name, text in files.items():
                (place / name).write_text(text)
            paths = {name: f"{place.name}/{name}" for name in files}
            runs.append(m.replace(run, id=place.name, files=paths))
    points = [m.Point({varied: str(10**n)}, 1) for n in range(len(by_point))]
    return compare_states(Session(folder, m.replace(made.manifest, points=points, runs=runs)))


def said(state: State, kind: str) -> list[str]:
    return [line.text for line in lines(state) if line.kind == kind]


def test_every_point_is_compared(tmp_path: Path) -> None:
    state = swept(tmp_path, [{"a": left(faults=n), "b": left(faults=n)} for n in (10, 500, 9000)])
    (line,) = lines(state)
    assert line.text.startswith(
        "same state at all 3 points: 200 system calls (mprotect 200), 10 to 9,000 minor faults"
    )
    assert [point.verdict for point in points(state)] == ["same"] * 3


def test_a_difference_at_one_point_names_it(tmp_path: Path) -> None:
    same = {"a": left(), "b": left()}
    state = swept(tmp_path, [same, {"a": left(), "b": left(calls=201)}, same])
    assert said(state, "differs") == [
        "STATE DIFFERS at size 10: system call mprotect: a 200, b 201"
    ]
    (equal,) = said(state, "same")
    assert equal.startswith("otherwise equal at all 3 points: 1,000 minor faults")
    assert [point.verdict for point in points(state)] == ["same", "differs", "same"]


def test_a_difference_at_several_points_is_one_line(tmp_path: Path) -> None:
    other = [{"a": left(), "b": left(calls=201 + n)} for n in range(6)]
    state = swept(tmp_path, [{"a": left(), "b": left()}, *other])
    assert said(state, "differs") == [
        "STATE DIFFERS at size 10, 100, 1000, 10000 and 2 more: system call mprotect: a 200, b 201 "
        "(at size 10)"
    ]


def test_huge_pages_that_enter_on_the_way_are_flagged(tmp_path: Path) -> None:
    """Both kernels get them, so that no point differs: the curve bends all the same."""
    without = {"a": left(), "b": left()}
    with_them = {"a": left(huge=4096), "b": left(huge=4096)}
    state = swept(tmp_path, [without, with_them, without, with_them])
    assert said(state, "differs") == [
        f"STATE CHANGES at size 10, 1000: {HUGE}: a 4096, b 4096; elsewhere 0; to keep huge pages "
        "out: --append transparent_hugepage=never"
    ]
    assert [point.changes for point in points(state)] == [[], [HUGE], [], [HUGE]]
    (tmp_path / "all").mkdir()
    assert not swept(tmp_path / "all", [with_them, with_them]).shifts


def test_huge_pages_are_seen_without_observation(tmp_path: Path) -> None:
    def blind(huge: int) -> dict[str, dict[str, str]]:
        kept = {name: text for name, text in left(huge=huge).items() if name != "observed"}
        return {"a": kept, "b": kept}

    state = swept(tmp_path, [blind(0), blind(8192)])
    (line,) = said(state, "differs")
    assert line.startswith(
        "STATE CHANGES at size 10: vmstat thp fault alloc: a 4, b 4; elsewhere 0"
    )
    # What was not observed is not the same.
    assert not any("same state" in line.text for line in lines(state))
    assert "state not known at all 2 points: system calls, huge pages of the workload" in said(
        state, "unknown"
    )


def test_a_setting_of_the_kernels_that_changes_on_the_way(tmp_path: Path) -> None:
    """As on a machine that was rebooted in between. Kernels may have settings of their own."""
    was, own = left(), left()
    own["state"] = own["state"].replace("[madvise] never", "madvise [never]")
    became = {
        **own,
        "state": own["state"].replace("[never]", "never").replace("always", "[always]"),
    }
    state = swept(tmp_path, [{"a": was, "b": own}, {"a": was, "b": own}, {"a": was, "b": became}])
    (shift,) = state.shifts
    assert shift.name == "mm/transparent_hugepage/enabled"
    assert [setting.title for setting in shift.settings] == ["size 100"]


def test_points_without_a_run_are_not_the_same(tmp_path: Path) -> None:
    both = {"a": left(), "b": left()}
    state = swept(tmp_path, [both, {"a": left()}, {}])
    assert [point.verdict for point in points(state)] == ["same", "not compared", "not compared"]
    (equal,) = said(state, "same")
    assert equal.startswith("equal as far as known at 1 of 3 points: 200 system calls")
    assert said(state, "unknown") == [
        "state not compared at size 10: no finished run of b",
        "state not compared at size 100: no finished run of a, b",
    ]


def test_one_of_three_kernels_did_not_run(tmp_path: Path) -> None:
    described = manifest(["a", "b", "c"])
    runs = session(tmp_path, {"a": left(), "b": left()}).manifest.runs
    state = compare_states(Session(tmp_path, m.replace(described, runs=runs)))
    assert "state not compared: no finished run of c" in said(state, "unknown")
    assert not any("same state" in line.text for line in lines(state))


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, str]] = []
    head = Session.head

    def counted(self: Session, run: m.Run, what: str, limit: int) -> bytes | None:
        read.append((run.id, what))
        return head(self, run, what, limit)

    monkeypatch.setattr(Session, "head", counted)
    swept(tmp_path, [{"a": left(), "b": left()}] * 5)
    assert len(read) == len(set(read)) == 5 * 2 * 6
