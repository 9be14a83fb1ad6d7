"""The folder of several architectures: written whole, read strictly, and never taken for a
session."""

import json
import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from hypothesis import given
from hypothesis import strategies as st
from synthetic_joint import joint
from synthetic_session import exact_session

from profdiff.base.errors import InputError, SessionError
from profdiff.cli import cli
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.commands.complete import newest
from profdiff.session.held import ARCHITECTURE, held, is_session, refuse_occupied
from profdiff.session.lock import recording
from profdiff.session.parts import Parts
from profdiff.session.session import Session

NAMES = ["arm64", "x86_64"]
SCHEMA = ARCHITECTURE.schema
COMMAND = ["profdiff", "record", "--arch", "arm64,x86_64"]


@pytest.fixture
def several(tmp_path: Path) -> Parts:
    """Two parts, of which each is a session."""
    made = Parts.create(tmp_path / "s.profdiff", NAMES, COMMAND)
    for name in NAMES:
        exact_session(made.part(name))
    return made


def test_what_is_made_is_read(several: Parts) -> None:
    assert Parts.open(several.folder) == several
    written = json.loads((several.folder / "architectures.json").read_text())
    assert written == {"schema": SCHEMA, "architectures": NAMES, "command": COMMAND}
    assert held(several.folder) == "parts"
    assert not is_session(several.folder)
    assert [session.folder for session in several.sessions().values()] == [
        several.folder / "arm64",
        several.folder / "x86_64",
    ]


def test_a_part_that_is_not_recorded_yet_is_no_session(tmp_path: Path) -> None:
    made = Parts.create(tmp_path, NAMES, COMMAND)
    assert made.sessions() == {}
    exact_session(made.part("x86_64"))
    assert list(made.sessions()) == ["x86_64"]


def test_a_part_is_a_session_and_not_several(several: Parts) -> None:
    assert held(several.part("arm64")) != "parts"
    with pytest.raises(SessionError, match="profdiff record --arch makes it"):
        Parts.open(several.part("arm64"))


def test_parts_are_added_behind(tmp_path: Path) -> None:
    made = Parts.create(tmp_path, ["x86_64", "arm64"], COMMAND)
    before = (tmp_path / "architectures.json").stat().st_mtime_ns
    assert made.with_parts(["arm64"]) == made
    assert (tmp_path / "architectures.json").stat().st_mtime_ns == before
    (tmp_path / "architectures.json").write_text(
        json.dumps({"schema": SCHEMA, "architectures": ["arm64", "x86_64"], "command": []})
    )
    assert Parts(tmp_path, ["arm64"], []).with_parts(NAMES).names == NAMES
    assert Parts.open(tmp_path).names == NAMES


def test_a_session_command_names_the_parts(several: Parts) -> None:
    with pytest.raises(InputError) as error:
        Session.open(several.folder)
    for name in NAMES:
        assert str(several.folder / name) in str(error.value)
    assert "\n" not in str(error.value)


def test_no_part_is_recorded_yet(tmp_path: Path) -> None:
    Parts.create(tmp_path, NAMES, COMMAND)
    with pytest.raises(InputError, match="none is recorded yet"):
        Session.open(tmp_path)


def test_a_folder_that_holds_something_is_left_alone(several: Parts) -> None:
    for folder in (several.folder, several.part("arm64"), several.folder.parent):
        with pytest.raises(InputError, match="name another one"):
            Parts.create(folder, NAMES, COMMAND)
    with pytest.raises(InputError, match="sessions of several architectures"):
        refuse_occupied(several.folder)


def test_only_its_parts_can_be_asked_for(several: Parts) -> None:
    with pytest.raises(InputError, match=r"no part \.\./x: it has arm64 and x86_64"):
        several.part("../x")


def test_a_part_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    outside = exact_session(tmp_path / "outside").folder
    made = Parts.create(tmp_path / "s", NAMES, COMMAND)
    (made.folder / "arm64").symlink_to(outside)
    with pytest.raises(SessionError, match="leads out"):
        made.sessions()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "damaged"),
        (b"\xff", "damaged"),
        (b"[" * 100_000, "damaged"),
        (b'{"schema": 1}', "damaged"),
        (b'{"schema": "profdiff.architectures/2"}', "has schema"),
        ({"architectures": ["x86_64"]}, "damaged"),
        ({"architectures": ["x86_64", "x86_64"]}, "twice"),
        ({"architectures": ["x86_64", ".."]}, "does not know"),
        ({"architectures": ["x86_64", "aarch64"]}, "does not know"),
        ({"architectures": ["x86_64", "/etc"]}, "does not know"),
        ({"architectures": ["x86_64", 7]}, "damaged"),
        ({"more": 1}, "damaged"),
        (b" " * (2**20 + 1), "larger than"),
    ],
)
def test_a_strangers_file_is_read_strictly(
    tmp_path: Path, content: bytes | dict[str, object], message: str
) -> None:
    if isinstance(content, dict):
        whole = {"schema": SCHEMA, "architectures": NAMES, "command": [], **content}
        content = json.dumps(whole).encode()
    (tmp_path / "architectures.json").write_bytes(content)
    with pytest.raises(SessionError, match=message) as error:
        Parts.open(tmp_path)
    assert len(str(error.value)) < 500


def test_what_would_block_is_no_folder_of_several(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "architectures.json")
    assert held(tmp_path) != "parts"
    with pytest.raises(SessionError, match="neither a file nor a folder"):
        Parts.open(tmp_path)


@given(st.permutations([one.arch for one in ARCHITECTURES]), st.lists(st.text(max_size=20)))
def test_every_order_is_kept(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], command: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("several")
    Parts.create(folder, names, command)
    assert Parts.open(folder) == Parts(folder, names, command)


def test_one_recorder_at_a_time(several: Parts) -> None:
    with recording(several.folder):
        with pytest.raises(InputError, match="another process"), recording(several.folder):
            pass
        with recording(several.part("arm64")):
            pass


def test_the_newest_session_is_the_whole(several: Parts, tmp_path: Path) -> None:
    older = exact_session(tmp_path / "older.profdiff").folder
    os.utime(older / "manifest.json", (1, 1))
    assert newest(tmp_path) == several.folder
    assert newest(several.folder) == several.folder
    # What was recorded last counts, in whichever part it is.
    now = (several.part("x86_64") / "manifest.json").stat().st_mtime
    os.utime(older / "manifest.json", (now + 10, now + 10))
    assert newest(tmp_path) == older
    os.utime(several.part("arm64") / "manifest.json", (now + 20, now + 20))
    assert newest(tmp_path) == several.folder


def completed(words: list[str], typed: str) -> list[str]:
    """What Tab offers behind ``profdiff`` and ``words``."""
    shell = ShellComplete(cli, {}, "profdiff", "_PROFDIFF_COMPLETE")
    return [item.value for item in shell.get_completions(words, typed)]


def test_tab_offers_the_whole_and_its_parts(
    several: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(several.folder.parent)
    for command in ("report", "mail", "record -o"):
        assert completed(command.split(), "s") == ["s.profdiff"]
    parts = ["s.profdiff/arm64", "s.profdiff/x86_64"]
    assert completed(["report"], "s.profdiff/") == parts
    # The code of one kernel is in one of them.
    assert completed(["annotate"], "s.p") == ["s.profdiff/"]
    assert completed(["annotate"], "s.profdiff/") == parts


def test_tab_knows_what_the_parts_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example has functions that one architecture alone has."""
    joint(tmp_path / "s.profdiff")
    monkeypatch.chdir(tmp_path)
    functions = {
        "s.profdiff": ["flush", "contpte"],
        "s.profdiff/x86_64": ["flush"],
        "s.profdiff/arm64": ["contpte"],
    }
    for folder, own in functions.items():
        check = ["check", folder, "--fail-if"]
        assert completed(check, "") == ["instructions:"]
        offered = completed(check, "instructions:")
        assert len(set(offered)) == len(offered)
        assert [one for one in ("flush", "contpte") if f"instructions:{one}" in offered] == own
        assert completed(["check", folder, "--kernel"], "") == ["new"]
