"""The files that a user names: devices, FIFOs and links stay, what a session has stays, and on a
full disk nothing is there in part."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from support import error_line, profdiff
from synthetic_session import exact_session
from tracefiles.test_coverage import LINES, made

from profdiff.base.errors import InputError
from profdiff.cli import cli
from profdiff.collectors.kernels import registered
from profdiff.commands import COMMANDS
from profdiff.commands.command import OUTPUT_FILE, OUTPUT_FOLDER
from profdiff.commands.output import write
from profdiff.reports.page.site import site_folder
from profdiff.session.session import Session

LARGE = "x" * 100_000
FAILS = ("check", "--fail-if", "instructions > +900%")


@pytest.fixture
def device(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a device of this name that nobody else has: a mistake may cost it."""

    def node(name: str) -> Path:
        path = tmp_path / name
        number = Path("/dev", name).stat().st_rdev
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, number)
            path.open("wb").close()
        except PermissionError:
            pytest.skip("this machine does not let us make devices, or use them")
        return path

    return node


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return exact_session(tmp_path / "s.profdiff").folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refused(path: Path | str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^cannot write {path}: .*{reason}") as raised:
        write(str(path), LARGE)
    assert "\n" not in str(raised.value)


def test_devices_are_written_to(
    session: Path, tmp_path: Path, device: Callable[[str], Path]
) -> None:
    full, null = device("full"), device("null")
    (tmp_path / "link").symlink_to("full")
    for command, words in (
        ("report", ["--html", full]),
        ("report", ["--json", tmp_path / "link"]),
        ("mail", ["-o", full]),
        (FAILS[0], [*FAILS[1:], "--markdown", full]),
    ):
        line = error_line(profdiff(command, session, *words, status=2))
        assert line.startswith(f"cannot write {words[-1]}: No space left on device: make room")
    profdiff("report", session, "--json", null, "--csv", null, "--html", null)
    profdiff("mail", session, "-o", null)
    profdiff(*FAILS[:1], session, *FAILS[1:], "--junit", null, "--markdown", null)
    assert stat.S_ISCHR(full.lstat().st_mode)
    assert stat.S_ISCHR(null.lstat().st_mode)
    for option in ("--charts", "--site"):
        command = "report" if option == "--charts" else "atlas"
        error_line(profdiff(command, session, option, full, status=2))
    assert names(tmp_path) == ["full", "link", "null", "s.profdiff"]


def test_open_files_are_written_to(session: Path, tmp_path: Path) -> None:
    """Standard output by whatever name, at its end; a descriptor of the shell's; a substitution. A
    link to /dev/stdout, not that: a mistake would replace it."""
    program = f'{sys.executable} -m profdiff report "$0"'
    script = f"""
    ln -s /dev/stdout out; {program} --json out > json
    echo before > log; {program} --csv /proc/self/fd/1 >> log
    echo before > other; {program} --csv /dev/fd/7 7>> other
    touch substituted; {program} --csv >(cat > substituted)
    ln -s /dev/stderr link; {program} --csv link 2> errors
    """
    done = subprocess.run(["bash", "-ec", script, session], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    json.loads((tmp_path / "json").read_bytes())
    rows = profdiff("report", session, "--csv", "-").stdout
    for name, before in (("log", "before\n"), ("other", "before\n"), ("errors", "")):
        assert (tmp_path / name).read_text() == before + rows
    for _ in range(100):
        if (found := (tmp_path / "substituted").read_text()) == rows:
            break
        time.sleep(0.05)
    assert found == rows
    assert (tmp_path / "link").readlink() == Path("/dev/stderr")
    assert (tmp_path / "out").readlink() == Path("/dev/stdout")


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    fifo, found = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_text()), daemon=True)
    reader.start()
    write(str(fifo), LARGE)
    reader.join(10)
    assert found == [LARGE]
    assert fifo.is_fifo()


def test_links_stay(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    first, second, file = tmp_path / "first", inner / "second", inner / "file"
    first.symlink_to("inner/second")
    second.symlink_to("file")
    for content in ("new", "newer"):
        write(str(first), content)
        assert file.read_text() == content
        assert not file.is_symlink()
    assert first.readlink() == Path("inner/second")
    assert second.readlink() == Path("file")
    assert names(inner) == ["file", "second"]


def test_folders_are_made_where_links_lead(session: Path, tmp_path: Path) -> None:
    stacks = tmp_path / "stacks"
    stacks.write_text("main;f 1\n")
    (tmp_path / "loop").symlink_to("loop")
    for number, words in enumerate(
        (
            ["import", f"a={stacks}", f"b={stacks}", "-o"],
            ["coverage", made(tmp_path / "lines", LINES), "-o"],
            ["atlas", session, "-o"],
            ["report", session, "--charts"],
        )
    ):
        link, place = tmp_path / f"link-{number}", tmp_path / f"place-{number}"
        link.symlink_to(place.name)
        profdiff(*words, link)
        assert link.is_symlink()
        assert place.is_dir()
        assert any(place.iterdir())
        assert "Too many levels" in error_line(profdiff(*words, tmp_path / "loop", status=2))
    (tmp_path / "merged").symlink_to("place")
    profdiff("merge", tmp_path / "merged", session)
    assert Session.open(tmp_path / "place")
    for words in (["merge", "loop", session], ["diff", "loop", stacks], ["atlas", "loop"]):
        line = error_line(profdiff(*words, cwd=tmp_path, status=2))
        assert "Too many levels of symbolic links" in line


def test_what_is_no_place_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("folder").mkdir()
    Path("to-folder").symlink_to("folder")
    Path("away").symlink_to("nowhere/file")
    Path("file").write_text("old")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        before = names(tmp_path)
        refused("loop", "Too many levels of symbolic links")
        for folder in ("folder", "to-folder", "."):
            refused(folder, "it is a folder: name a file")
        refused("new/", "names a folder")
        refused("away", f"there is no folder {tmp_path}/nowhere")
        refused("nowhere/file", f"there is no folder {tmp_path}/nowhere")
        refused("file/below", "Not a directory")
        refused("socket", "it is a socket: name a file")
        refused("n" * 256, "File name too long")
        assert names(tmp_path) == before
    assert Path("file").read_text() == "old"
    assert Path("loop").readlink() == Path("loop")
    write("n" * 255, "a long name is one")


def test_a_block_device_is_no_file(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    try:
        # No driver has this number.
        os.mknod(disk, 0o600 | stat.S_IFBLK, os.makedev(240, 255))
    except PermissionError:
        pytest.skip("this machine does not let us make devices")
    refused(disk, "it is a block device")
    assert stat.S_ISBLK(disk.lstat().st_mode)


def test_a_replaced_file_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    for mode in (0o600, 0o664, 0o755, 0o4755):
        path = tmp_path / f"{mode:o}"
        path.write_text("old")
        path.chmod(mode)
        write(str(path), "new")
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777
    path, other = tmp_path / "one", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    if os.geteuid() == 0:
        os.chown(path, 1234, 5678)
    write(str(path), "new")
    assert other.read_text() == "old"
    found, before = path.stat(), other.stat()
    assert (found.st_uid, found.st_gid) == (before.st_uid, before.st_gid)
    (tmp_path / "site").mkdir(mode=0o750)
    with site_folder(tmp_path / "site") as site:
        site.write("index.html", "new")
    assert stat.S_IMODE((tmp_path / "site").stat().st_mode) == 0o750


@pytest.mark.slow
def test_what_may_not_be_written(session: Path, tmp_path: Path) -> None:
    """As a user, whom modes concern."""
    script = """
import os, sys
from pathlib import Path
from profdiff.commands.output import write
from profdiff.base.errors import InputError
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
for name in ("read-only", "folder/new", "folder/old", "folder/link"):
    try:
        write(name, "new")
    except InputError as error:
        print(error)
"""
    read_only, folder = tmp_path / "read-only", tmp_path / "folder"
    folder.mkdir()
    for path in (read_only, folder / "old"):
        path.write_text("old")
    (folder / "link").symlink_to("old")
    for path, mode in ((read_only, 0o444), (folder / "old", 0o666), (folder, 0o555)):
        path.chmod(mode)
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o777 if path == tmp_path else path.stat().st_mode | 0o111)
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    for line, name in zip(
        done.stdout.splitlines(),
        ("read-only", "folder/new", "folder/old", "folder/link"),
        strict=True,
    ):
        assert line == f"cannot write {name}: Permission denied"
    assert read_only.read_text() == (folder / "old").read_text() == "old"
    assert names(folder) == ["link", "old"]


def test_what_a_session_has_is_no_output(session: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("s.profdiff/manifest.json")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/suite.json").write_text("{}")
    before = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    for name in (
        *("s.profdiff/manifest.json", "s.profdiff/runs/base-1/counts", "s.profdiff/symbols/new"),
        *("link", "s.profdiff/runs/new-1/new/folder/file", "s.profdiff/.lock", "suite/suite.json"),
        *("s.profdiff/kernels", "s.profdiff/symbols/../manifest.json"),
    ):
        with pytest.raises(InputError, match=r"belongs to what is recorded in .*: name another"):
            write(str(tmp_path / name), "new")
    for words in (
        ["report", session, "--csv", session / "manifest.json"],
        ["report", session, "--charts", session / "runs"],
        ["coverage", made(tmp_path / "lines", LINES), "-o", session / "symbols"],
        [FAILS[0], session, *FAILS[1:], "--markdown", session / "manifest.json"],
        ["mail", session, "-o", session / "manifest.json", "--force"],
        ["atlas", session, "-o", session / "kernels"],
    ):
        assert "belongs to what is recorded in" in error_line(profdiff(*words, status=2))
    assert {path: path.read_bytes() for path in session.rglob("*") if path.is_file()} == before
    # A report beside them is no part of it.
    write(str(session / "report.html"), "new")
    Session.open(session)


def test_what_a_command_reads_is_no_output(session: Path, tmp_path: Path) -> None:
    for name, content in (("a", "main;f 1\n"), ("b", "main;f 2\n"), ("mail.eml", "no table")):
        (tmp_path / name).write_text(content)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "hard").hardlink_to(tmp_path / "b")
    words = ["diff", "x=a", "y=b"]
    for name in ("a", "link", "hard"):
        line = error_line(profdiff(*words, "--json", name, cwd=tmp_path, status=2))
        assert line == f"cannot write {name}: this command reads it: name another file"
    line = error_line(profdiff("lkp", "mail.eml", "--json", "mail.eml", cwd=tmp_path, status=2))
    assert "this command reads it" in line
    assert (tmp_path / "a").read_text() == "main;f 1\n"
    for other in ("both", "./both", tmp_path / "both"):
        line = error_line(
            profdiff("report", session, "--html", "both", "--csv", other, cwd=tmp_path, status=2)
        )
        assert line == f"--html and --csv write the same file: {other}"
    for words in (["size", "a", "b"], ["layout", "a", "b", "mm"]):
        line = error_line(
            profdiff(*words, "--csv", "both", "--json", "./both", cwd=tmp_path, status=2)
        )
        assert line == "--csv and --json write the same file: ./both"
    words = ["lkp", "mail.eml", "--json", "both", "--experiment", "both"]
    line = error_line(profdiff(*words, cwd=tmp_path, status=2))
    assert line == "--json and --experiment write the same file: both"
    assert not (tmp_path / "both").exists()


@pytest.mark.parametrize("small_disk", ["96k"], indirect=True)
def test_a_full_disk_leaves_no_part(session: Path, small_disk: Path, tmp_path: Path) -> None:
    lines = made(tmp_path / "lines", LINES)
    stacks = [f"{label}={small_disk}/{label}" for label in ("a", "b")]
    for label, of in (("a", 3), ("b", 5)):
        (small_disk / label).write_text("".join(f"main;f{n} {of}\n" for n in range(300)))
    old = small_disk / "charts/deltas.svg"
    old.parent.mkdir()
    old.write_text("old")
    summary = small_disk / "summary"
    summary.write_text("x" * 4090)
    filler = small_disk / "filler"
    for words, room in (
        (["report", session, "--charts", old.parent], 48),
        (["report", session, "--charts", small_disk / "new/charts"], 48),
        (["coverage", lines, "-o", small_disk / "coverage"], 8),
        (["diff", *stacks, "--folded", small_disk / "folded.txt"], 4),
        (["report", session, "--html", small_disk / "page.html"], 48),
        ([FAILS[0], session, *FAILS[1:], "--markdown", summary], 0),
    ):
        filler.unlink(missing_ok=True)
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        filler.write_bytes(bytes(free - 1024 * room))
        before = sorted(small_disk.rglob("*"))
        line = error_line(profdiff(*words, status=2))
        assert line.startswith(f"cannot write {small_disk}/")
        assert line.endswith(": No space left on device: make room and run the same command again")
        assert sorted(small_disk.rglob("*")) == before, words
    assert old.read_text() == "old"
    assert summary.read_text() == "x" * 4090


def test_an_example_on_a_full_disk(small_disk: Path) -> None:
    room = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes((room.f_bavail - 1) * room.f_frsize))
    line = error_line(profdiff("example", "mincore-present-pte", cwd=small_disk, status=2))
    assert line.endswith(": No space left on device: make room and run the same command again")
    assert names(small_disk) == ["filler"]


def test_registered_kernels_stay_where_a_link_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/kernels.json").symlink_to("../dotfiles.json")
    registered.add("a", "/nowhere")
    assert json.loads((tmp_path / "dotfiles.json").read_bytes())["kernels"] == {"a": "/nowhere"}
    assert (tmp_path / "config/kernels.json").is_symlink()


def options(command: click.Command) -> Iterator[click.Option]:
    for one in getattr(command, "commands", {}).values():
        yield from options(one)
    yield from (one for one in command.params if isinstance(one, click.Option))


def test_every_file_that_an_option_writes_goes_the_same_way() -> None:
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in COMMANDS]
    found = [one for command in commands if command for one in options(command)]
    writes = [
        one
        for one in found
        if (one.help or "").startswith(("Write", "Append")) and "FILE" in (one.metavar or "")
    ]
    assert len(writes) > 20
    assert [one.opts for one in writes if one.type is not OUTPUT_FILE] == []
    known = (OUTPUT_FILE, OUTPUT_FOLDER)
    assert [one.opts for one in found if "-o" in one.opts and one.type not in known] == []
