"""The folder of a suite: written whole, read strictly, and never taken for a session."""

import fcntl
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import manifest
from synthetic_session import exact_session

from profdiff.base.errors import InputError, SessionError
from profdiff.commands.complete import newest
from profdiff.session import manifest as m
from profdiff.session import suite as suites
from profdiff.session.held import held
from profdiff.session.lock import recording
from profdiff.session.parts import Parts
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload, cell_names

COMMAND = ["profdiff", "record", "--suite", "small"]
MPROTECT = SuiteWorkload(name="mprotect", tags=["mm"], op="page", about="toggles a page")
PIPE = SuiteWorkload(name="pipe", nonlinear="the pipe fills up")


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """Two workloads, of which the second has one architecture of two, the first a session."""
    made = Suite.create(tmp_path / "s.profdiff", "small", COMMAND, [MPROTECT, PIPE])
    exact_session(made.part("mprotect"))
    several = Parts.create(made.part("pipe"), ["arm64", "x86_64"], COMMAND)
    exact_session(several.part("x86_64"))
    return made


def test_what_is_made_is_read(suite: Suite) -> None:
    assert Suite.open(suite.folder) == suite
    assert held(suite.folder) == "suite"
    assert held(suite.folder) != "parts"
    written = json.loads((suite.folder / "suite.json").read_text())
    assert written["schema"] == "profdiff.suite/1"
    assert [one["name"] for one in written["workloads"]] == ["mprotect", "pipe"]


def test_what_is_recorded_comes_in_order(suite: Suite) -> None:
    found = [(one.name, part, session.folder) for one, part, session in suite.recorded()]
    assert found == [
        ("mprotect", "", suite.folder / "mprotect"),
        ("pipe", "x86_64", suite.folder / "pipe/x86_64"),
    ]


def _lock(folder: Path, how: int) -> int:
    """As another process does."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


@pytest.mark.parametrize("part", ["mprotect", "pipe", "pipe/x86_64"])
def test_a_suite_that_is_recorded_keeps_its_parts(suite: Suite, part: str) -> None:
    other = _lock(suite.folder, fcntl.LOCK_EX)
    told = f"{suite.folder} is being recorded by another process"
    with pytest.raises(InputError, match=told), recording(suite.folder / part):
        pass
    os.close(other)
    with recording(suite.folder / part):
        pass


@pytest.mark.parametrize("part", ["mprotect", "pipe", "pipe/x86_64"])
def test_a_part_that_is_recorded_keeps_its_suite_but_no_other_part(suite: Suite, part: str) -> None:
    with recording(suite.folder / part):
        with pytest.raises(BlockingIOError):
            _lock(suite.folder, fcntl.LOCK_EX)
        os.close(_lock(suite.folder, fcntl.LOCK_SH))
    os.close(_lock(suite.folder, fcntl.LOCK_EX))


def test_who_records_a_suite_has_its_parts(suite: Suite) -> None:
    with recording(suite.folder):
        with recording(suite.part("mprotect")):
            pass
        with recording(suite.part("pipe")), recording(suite.part("pipe") / "x86_64"):
            pass
        with pytest.raises(BlockingIOError):
            _lock(suite.folder, fcntl.LOCK_SH)


def test_one_session_after_the_other_is_opened(suite: Suite) -> None:
    (suite.part("pipe") / "x86_64/manifest.json").write_text("{")
    recorded = suite.recorded()
    assert next(recorded)[0].name == "mprotect"
    with pytest.raises(SessionError, match="damaged"):
        next(recorded)


def test_a_workload_without_runs_has_no_part(tmp_path: Path) -> None:
    made = Suite.create(tmp_path / "s", "small", COMMAND, [MPROTECT])
    assert list(made.recorded()) == []
    assert not made.part("mprotect").exists()


def test_workloads_are_added_behind_and_told_anew(suite: Suite) -> None:
    before = (suite.folder / "suite.json").stat().st_mtime_ns
    assert suite.with_workloads([PIPE]) == suite
    assert (suite.folder / "suite.json").stat().st_mtime_ns == before
    told = SuiteWorkload(name="mprotect", op="call")
    added = suite.with_workloads([SuiteWorkload(name="fork"), told])
    assert Suite.open(suite.folder) == added
    assert [one.name for one in added.workloads] == ["mprotect", "pipe", "fork"]
    assert added.workloads[0].op == "call"
    assert added.command == suite.command
    newest = ["profdiff", "record", "--suite", "small", "--only", "fork"]
    assert added.with_workloads([], newest).command == newest
    assert Suite.open(suite.folder).command == newest


def test_a_session_command_names_the_parts(suite: Suite) -> None:
    with pytest.raises(InputError, match="holds a suite: name one of its workloads") as error:
        Session.open(suite.folder)
    assert str(suite.folder / "mprotect") in str(error.value)


def test_a_folder_that_holds_something_is_left_alone(suite: Suite) -> None:
    for folder in (suite.folder, suite.part("mprotect"), suite.folder.parent):
        with pytest.raises(InputError, match="name another one"):
            Suite.create(folder, "small", COMMAND, [MPROTECT])
    with pytest.raises(InputError, match="it holds a suite"):
        Parts.create(suite.folder, ["x86_64", "arm64"], COMMAND)


def test_one_recorder_at_a_time(suite: Suite) -> None:
    with (
        recording(suite.folder),
        pytest.raises(InputError, match="another process"),
        recording(suite.folder),
    ):
        pass


def test_the_newest_recording_is_the_suite(suite: Suite, tmp_path: Path) -> None:
    old = exact_session(tmp_path / "old")
    os.utime(old.folder / "manifest.json", (1, 1))
    assert newest(tmp_path) == suite.folder
    assert newest(suite.folder) == suite.folder
    os.utime(old.folder / "manifest.json")
    for file in suite.folder.rglob("*.json"):
        os.utime(file, (2, 2))
    assert newest(tmp_path) == old.folder


def test_a_part_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    outside = exact_session(tmp_path / "outside").folder
    made = Suite.create(tmp_path / "s", "small", COMMAND, [MPROTECT])
    (made.folder / "mprotect").symlink_to(outside)
    with pytest.raises(SessionError, match="leads out"):
        list(made.recorded())


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".lock", "suite.json", "x" * 65])
def test_a_workload_has_a_name_that_can_be_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="a name"):
        Suite.create(tmp_path / "s", "small", COMMAND, [SuiteWorkload(name=name)])
    assert not (tmp_path / "s").exists()


def test_two_workloads_have_two_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pipe is given twice"):
        Suite.create(tmp_path / "s", "small", COMMAND, [PIPE, PIPE])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schema": "profdiff.suite/2"}, "has schema 'profdiff.suite/2'"),
        ({"workloads": []}, "damaged"),
        ({"workloads": [{"name": "../x"}]}, "damaged"),
        ({"workloads": [{"name": "suite.json"}]}, "does not end with .json"),
        ({"workloads": [{"name": "a"}, {"name": "a"}]}, "given twice"),
        ({"workloads": [{"name": "a", "op": ""}]}, "damaged"),
        ({"workloads": [{"name": "a", "tags": ["a b"]}]}, "damaged"),
        ({"workloads": [{"name": "a", "other": 1}]}, "damaged"),
        ({"workloads": [{"name": f"a{n}"} for n in range(4001)]}, "damaged"),
        ({"more": 1}, "damaged"),
    ],
)
def test_a_damaged_or_hostile_file_is_refused(
    suite: Suite, changed: dict[str, object], message: str
) -> None:
    file = suite.folder / "suite.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    with pytest.raises(SessionError, match=message) as error:
        Suite.open(suite.folder)
    assert "\n" not in str(error.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("s")
    (folder / "suite.json").write_bytes(data)
    with pytest.raises(SessionError):
        Suite.open(folder)


def test_a_link_that_leads_out_is_no_suite_file(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "s").mkdir()
    (tmp_path / "s/suite.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(SessionError, match="leads out"):
        Suite.open(tmp_path / "s")


def _with_points(*points: m.Point) -> m.Manifest:
    return m.replace(manifest(["base"]), points=list(points))


def _names(found: m.Manifest, part: str = "") -> list[str]:
    return cell_names(found, settings(found), "mprotect", part)


def test_cells_are_named_by_what_their_points_differ_by() -> None:
    one = m.Point(parameters={"state": "anon", "size": "64k"}, cpus=1)
    assert _names(_with_points(one)) == ["mprotect"]
    assert _names(_with_points(one), "arm64") == ["mprotect@arm64"]
    other = m.Point(parameters={"state": "file", "size": "4k"}, cpus=2)
    assert _names(_with_points(one, other), "gcc-12") == [
        "mprotect/anon,64k,1vcpus@gcc-12",
        "mprotect/file,4k,2vcpus@gcc-12",
    ]


def test_the_shorter_length_is_no_cell() -> None:
    short = m.Point(parameters={"ops": "50"}, ops=50)
    long = m.Point(parameters={"ops": "100"}, ops=100, shorter=1)
    assert _names(_with_points(long, short)) == ["mprotect"]


def test_cells_of_equal_names_are_numbered() -> None:
    values = ("a/b", "a b", "a_b~2")
    every = [m.Point(parameters={"path": value}) for value in values]
    assert _names(_with_points(*every)) == ["mprotect/a_b", "mprotect/a_b~2", "mprotect/a_b_2"]


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=12, unique=True))
def test_no_two_cells_have_one_name(values: list[str]) -> None:
    every = [m.Point(parameters={"p": value, "q": value[::-1]}) for value in values]
    names = _names(_with_points(*every))
    assert len(set(names)) == len(values)
    assert all(suites.problem_with(name.split("/")[0]) is None for name in names)
    assert all(name.isascii() and name.isprintable() and " " not in name for name in names)
