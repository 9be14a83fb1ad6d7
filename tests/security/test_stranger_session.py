"""A session that is a stranger's: reading it writes nothing, waits for nothing, and is bounded."""

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from perf_data.writer import KERNEL, Writer
from support import error_line, profdiff, unclaimed
from synthetic_session import exact_session

from profdiff.base.bounded import gunzip, head, read
from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.lock import recording
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError, SymbolIndex

FILES = {"stdout": b"done\n", "status": b"exit 0\n", "cmdline": b"quiet\n", "state": b"thp never\n"}
READERS = [
    ["report"],
    ["report", "--json", "-"],
    ["report", "--html", "-"],
    ["check", "--fail-if", "instructions > +900%"],
    ["mail", "-o", "-", "--from", "A <a@example.org>", "--to", "b@example.org"],
]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return unclaimed(exact_session(tmp_path / "s.profdiff", files=FILES).folder)


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything in a folder: kind, time of the last change, and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        told = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (told.st_mode, told.st_mtime_ns, data)
    return found


def forget_symbols(session: Path) -> None:
    """As it is when its recorder was killed before it symbolized."""
    path = session / "manifest.json"
    manifest = json.loads(path.read_text())
    for kernel in manifest["kernels"]:
        kernel["symbols"] = None
    path.write_text(json.dumps(manifest))


def reader(command: list[str], session: Path) -> list[str | Path]:
    return [command[0], session, *command[1:]]


@pytest.mark.parametrize("command", READERS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize("kept", [True, False], ids=["symbols", "no-symbols"])
def test_reading_follows_no_lock_and_writes_nothing(
    session: Path, tmp_path: Path, command: list[str], kept: bool
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("a year's work\n")
    (session / ".lock").symlink_to(precious)
    if not kept:
        forget_symbols(session)
    before = contents(session)
    profdiff(*reader(command, session))
    assert precious.read_text() == "a year's work\n"
    assert contents(session) == before


def test_recording_does_not_follow_the_lock_either(session: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("a year's work\n")
    (session / ".lock").symlink_to(precious)
    with pytest.raises(SessionError, match="is a link"), recording(session):
        pass
    assert precious.read_text() == "a year's work\n"


def test_recorders_keep_each_other_out(session: Path) -> None:
    with recording(session):
        other = (
            "from pathlib import Path; import sys; from profdiff.session.lock import recording\n"
        )
        other += "with recording(Path(sys.argv[1])): pass"
        command = [sys.executable, "-c", other, str(session)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "is being recorded by another process" in result.stderr


def test_a_recorder_removes_what_a_killed_one_left_half_written(session: Path) -> None:
    (session / ".manifest.json.abcd.part").write_text("{")
    (session / "symbols/.new.npz.abcd.part").write_text("PK")
    (session / "keep.part").write_text("a user's own")
    with recording(session):
        pass
    assert not list(session.rglob(".*.part"))
    assert (session / "keep.part").exists()


def session_files(session: Path) -> list[str]:
    found = [str(path.relative_to(session)) for path in sorted(session.rglob("*"))]
    return [name for name in found if (session / name).is_file()]


@pytest.mark.slow
def test_a_fifo_in_place_of_any_file_blocks_nothing(session: Path, tmp_path: Path) -> None:
    names = session_files(session)
    assert len(names) == 1 + 2 + 2 * (1 + len(FILES))
    for name in names:
        copy = shutil.copytree(session, tmp_path / "copy")
        (copy / name).unlink()
        os.mkfifo(copy / name)
        result = profdiff("report", copy, status=(0, 2))
        assert "Traceback" not in result.stderr
        if name.endswith(("counts", ".npz", "manifest.json")):
            assert result.returncode == 2, name
            error_line(result)
        shutil.rmtree(copy)


def grown(path: Path, size: int) -> None:
    """Make a file as large as ``size`` without using the disk."""
    with path.open("r+b") as file:
        file.truncate(size)


def small_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "runs/base-1/counts", "symbols/base.npz", "runs/base-1/stdout"],
)
def test_a_sparse_file_fills_no_memory(session: Path, name: str) -> None:
    grown(session / name, 40 << 30)
    command = [sys.executable, "-m", "profdiff", "report", str(session)]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=small_memory,
    )
    # Output is shown from its beginning; of the others nothing can be shown.
    assert result.returncode == (0 if name.endswith("stdout") else 2), result.stderr
    if result.returncode:
        assert Path(name).name in error_line(result)


@pytest.mark.slow
def test_a_tail_on_a_compressed_file_is_not_read(session: Path) -> None:
    opened = Session.open(session)
    path = session / "runs/base-1/kallsyms.gz"
    path.write_bytes(gzip.compress(b"ffffffff81000000 T _text\n"))
    run = m.replace(opened.manifest.runs[0], files={"kallsyms": "runs/base-1/kallsyms.gz"})
    assert opened.read(run, "kallsyms") == b"ffffffff81000000 T _text\n"
    grown(path, 40 << 30)
    with pytest.raises(SessionError, match="larger"):
        opened.read(run, "kallsyms")
    path.write_bytes(gzip.compress(bytes(300 << 20), 1))
    with pytest.raises(SessionError, match="unpacks to more than 256 MiB"):
        opened.read(run, "kallsyms")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    special: list[Path] = [tmp_path / "fifo", Path("/dev/zero"), tmp_path]
    readers: list[Callable[[Path, int], bytes]] = [read, head]
    for path in special:
        for reads in readers:
            with pytest.raises(OSError):
                reads(path, 10)
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read(tmp_path / "file", 10) == head(tmp_path / "file", 20) == b"0123456789"
    assert head(tmp_path / "file", 3) == b"012"
    with pytest.raises(OSError, match="larger"):
        read(tmp_path / "file", 9)


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_gzip_stream_that_is_cut_short(cut: int) -> None:
    with pytest.raises(ValueError, match="damaged"):
        gunzip(gzip.compress(b"hello")[:-cut], 100)
    with pytest.raises(ValueError, match="damaged"):
        gunzip(b"hello", 100)


def test_names_that_are_no_text_are_refused(session: Path, tmp_path: Path) -> None:
    path = session / "symbols/base.npz"
    data = path.read_bytes()
    assert b"change_pte_range" in data
    # A zip archive has checksums, which reading verifies: change them too.
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["strings.npy"] = members["strings.npy"].replace(b"change", b"chang\xff")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    out = tmp_path / "out.folded"
    for option in (["--folded", out], []):
        line = error_line(profdiff("report", session, *option, status=2))
        assert "base.npz is damaged" in line


def test_sparse_recordings_and_debug_files_are_refused_at_once(
    session: Path, tmp_path: Path
) -> None:
    """Files that Rust reads."""
    stacks = tmp_path / "a.folded"
    stacks.write_text("a;b 1\n")
    imported = tmp_path / "imported"
    profdiff("import", f"a={stacks}", f"b={stacks}", "-o", imported)
    grown(unclaimed(imported) / "runs/a-1/stacks.txt", 40 << 30)
    assert "more than 4 GiB" in error_line(profdiff("report", imported, status=2))

    for content in (Path(sys.executable).read_bytes()[:4096], gzip.compress(b"\x7fELF")):
        elf = tmp_path / "vmlinux"
        elf.write_bytes(content)
        grown(elf, 40 << 30)
        with pytest.raises(NativeError, match="8589934592 are not read"):
            SymbolIndex.open(str(elf), str(tmp_path / "cache"))


def test_a_manifest_that_lies_elsewhere_is_not_read(session: Path, tmp_path: Path) -> None:
    (session / "manifest.json").rename(tmp_path / "manifest.json")
    (session / "manifest.json").symlink_to(tmp_path / "manifest.json")
    assert "leads out of the session" in error_line(profdiff("report", session, status=2))


@pytest.mark.slow
def test_no_fifo_is_waited_for(tmp_path: Path) -> None:
    """Wherever a file can be named."""
    fifo, stacks = tmp_path / "fifo", tmp_path / "a.folded"
    os.mkfifo(fifo)
    stacks.write_text("a;b 1\n")
    samples = Writer()
    samples.mmap2(2**32 - 1, 2**63, 2**24, 2**63, b"[kernel.kallsyms]_text", 0, mode=KERNEL)
    samples.sample(2**63 + 0x1000, [], mode=KERNEL)
    perf_data = tmp_path / "perf.data"
    perf_data.write_bytes(samples.file())
    for arguments in (
        ["diff", fifo, stacks],
        ["diff", perf_data, "--vmlinux", fifo],
        ["diff", perf_data, "--kallsyms", fifo],
        ["plan", "--experiment", fifo],
        ["record", "--kernel", f"a={fifo}", "--kernel", "b=/x", "--", "true"],
    ):
        command = [sys.executable, "-m", "profdiff", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 2, arguments
        error_line(result)
