"""The text of a report that is kept is never that of something else."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import profdiff
from synthetic import manifest

from profdiff.profile.kept_functions import KeptFunctions
from profdiff.reports import kept_text
from profdiff.reports.form import ReportOptions
from profdiff.reports.kept_text import session_text
from profdiff.session.session import Session
from profdiff.symbolization._native import checksum


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is kept, of this test alone."""
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/reports"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were made, of sessions that keep all that is needed."""
    texts: list[str] = []

    def make(*_: object) -> str:
        texts.append(f"text {len(texts)}\n")
        return texts[-1]

    monkeypatch.setattr(kept_text, "_made", make)
    monkeypatch.setattr(kept_text, "_is_whole", lambda _: True)
    return texts


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with a run's file."""
    folder = tmp_path / "s.profdiff"
    (folder / "runs/base-1").mkdir(parents=True)
    (folder / "runs/base-1/counts.bin").write_bytes(b"counts")
    session = Session(folder, manifest(["base", "new"]))
    session.save(session.manifest)
    return session


def other_byte(session: Session) -> None:
    """As long, and as old."""
    path = session.folder / "runs/base-1/counts.bin"
    before = path.stat()
    path.write_bytes(b"Counts")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def other_name(session: Session) -> None:
    (session.folder / "runs/base-1/counts.bin").rename(session.folder / "runs/base-1/counts")


def one_more(session: Session) -> None:
    (session.folder / "runs/base-1/stderr").touch()


@pytest.mark.parametrize("change", [other_byte, other_name, one_more])
def test_it_is_made_once_for_the_same_session(
    session: Session, made: list[str], change: Callable[[Session], None]
) -> None:
    assert [session_text(session, None, ReportOptions()) for _ in range(3)] == ["text 0\n"] * 3
    moved = session.folder.with_name("moved")
    shutil.copytree(session.folder, moved)
    assert session_text(Session.open(moved), None, ReportOptions()) == "text 0\n"
    change(session)
    assert session_text(session, None, ReportOptions()) == "text 1\n"
    assert session_text(Session.open(moved), None, ReportOptions()) == "text 0\n"


def test_other_options_and_another_program_make_another(
    session: Session, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [
        (None, ReportOptions()),
        ("x=1", ReportOptions()),
        (None, ReportOptions(width=80)),
        (None, ReportOptions(ratios=True)),
    ]
    program = tmp_path / "program"
    program.mkdir()
    for text in ("a = 1\n", "a = 22\n"):
        (program / "module.py").write_text(text)
        monkeypatch.setattr(kept_text, "_PROGRAM", program)
        for at, asked in every:
            session_text(session, at, asked)
    assert len(made) == 2 * len(every)


@pytest.mark.parametrize("kind", ["link", "fifo", "large", "many"])
def test_what_is_not_plain_or_small_is_made_each_time(
    session: Session, made: list[str], cache: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session.folder / "odd"
    match kind:
        case "link":
            path.symlink_to("manifest.json")
        case "fifo":
            os.mkfifo(path)
        case "large":
            with path.open("wb") as file:
                file.truncate(2**40)
        case "many":
            monkeypatch.setattr(kept_text, "_MOST_FILES", 1)
    kept_text.keep(session)
    assert made == []
    assert [session_text(session, None, ReportOptions()) for _ in range(2)] == [
        "text 0\n",
        "text 1\n",
    ]
    assert not cache.exists()


def test_what_is_recorded_meanwhile_is_not_kept(
    session: Session, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = kept_text._made

    def recording(*asked: Session) -> str:
        one_more(session)
        return make(*asked)

    monkeypatch.setattr(kept_text, "_made", recording)
    assert session_text(session, None, ReportOptions()) == "text 0\n"
    assert session_text(session, None, ReportOptions()) == "text 1\n"
    assert session_text(session, None, ReportOptions()) == "text 1\n"


def test_what_needs_this_machine_is_not_kept(
    session: Session, made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was counted here, so no names are kept."""
    monkeypatch.undo()
    monkeypatch.setenv("PROFDIFF_CACHE", str(cache.parent))
    monkeypatch.setattr(kept_text, "_made", lambda *_: "text\n")
    assert session_text(session, None, ReportOptions()) == "text\n"
    assert not cache.exists()


def test_few_are_kept(
    session: Session, made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_text, "_MOST_KEPT", 3)
    for width in range(80, 90):
        session_text(session, None, ReportOptions(width=width))
    assert len(list(cache.iterdir())) == 3


def test_no_cache_is_no_trouble(session: Session, made: list[str], cache: Path) -> None:
    cache.parent.write_text("not a folder")
    assert session_text(session, None, ReportOptions()) == "text 0\n"


def test_a_recorded_session_is_reported_from_it(
    recorded: Path, tmp_path: Path, cache: Path
) -> None:
    """The same text; and a damaged recording is refused, although a text is kept of the whole."""
    folder = tmp_path / "s.profdiff"
    shutil.copytree(recorded, folder)
    first = profdiff("report", folder).stdout
    (path,) = cache.iterdir()
    whole = f"{checksum(first.encode())}\n{first}"
    assert path.read_text() == whole
    assert profdiff("report", folder).stdout == first
    path.write_text(f"{checksum(b'kept')}\nkept")
    assert profdiff("report", folder).stdout == "kept"
    path.write_text(whole[:-5])
    assert profdiff("report", folder).stdout == first
    assert path.read_text() == whole
    assert profdiff("report", folder, "--text", tmp_path / "text").stdout == ""
    assert (tmp_path / "text").read_text() == first
    session = Session.open(folder)
    run = next(run for run in session.manifest.runs if run.failure is None)
    session.path(run.files["counts"]).write_bytes(b"damaged")
    assert "counts.bin is damaged" in profdiff("report", folder, status=1).stdout


def test_kept_functions_are_what_makes_a_session_whole(recorded: Path, tmp_path: Path) -> None:
    session = Session.open(recorded)
    assert kept_text._is_whole(session)
    folder = tmp_path / "s.profdiff"
    shutil.copytree(recorded, folder)
    other = Session.open(folder)
    assert KeptFunctions.load(other.path(other.manifest.functions or "")).functions
    other.path(other.manifest.functions or "").unlink()
    assert not kept_text._is_whole(other)
