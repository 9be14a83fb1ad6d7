"""Debug information in a file of its own: by build id, by .gnu_debuglink, of a kernel."""

import shutil
import subprocess
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from debug_parts import Parts, parts
from support import need_program

from profdiff.symbolization import debug_files, running_kernel
from profdiff.symbolization._native import elf_debug_info
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.debug_files import debug_file, kernel_debug_elf

KERNEL = b"""\
ffffffff81000000 T _text
ffffffff81000200 t helper
0000000000000000 A fixed_percpu
ffffffffc0001000 t of_module\t[nf]
"""
MOVED = b"ffffffff8b000000 T _text\nffffffff8b000200 t helper"


@pytest.fixture
def made(tmp_path: Path) -> Parts:
    return parts(tmp_path)


@pytest.fixture(autouse=True)
def _forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No debug file of this machine, and nothing that is known of files of other tests."""
    monkeypatch.setattr(debug_files, "_DEBUG", tmp_path / "usr/lib/debug")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "client"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.build
def test_what_an_elf_file_says(made: Parts) -> None:
    crc = made.debug.read_bytes()
    assert elf_debug_info(str(made.whole)) == (True, None)
    inside, link = elf_debug_info(str(made.program))
    assert not inside
    assert link is not None
    # binutils computed it.
    assert link == ("prog.debug", zlib.crc32(crc))


@pytest.mark.build
@pytest.mark.parametrize("place", ["bin", "bin/.debug", "usr/lib/debug/{bin}"])
def test_a_debug_link_is_followed(made: Parts, tmp_path: Path, place: str) -> None:
    assert debug_file(made.program) == made.program
    bin_ = made.program.parent.relative_to("/")
    folder = tmp_path / place.format(bin=bin_)
    folder.mkdir(parents=True, exist_ok=True)
    found = Path(shutil.copy(made.debug, folder))
    assert debug_file(made.program) == found
    assert debug_file(made.whole) == made.whole


@pytest.mark.build
def test_a_debug_link_to_another_file_is_not(made: Parts) -> None:
    other = made.program.parent / "prog.debug"
    other.write_bytes(made.debug.read_bytes() + b"\0")
    assert debug_file(made.program) == made.program
    other.unlink()
    other.mkdir()
    assert debug_file(made.program) == made.program


@pytest.mark.build
@pytest.mark.parametrize("name", ["../prog.debug", "/etc/prog.debug", "..", "x" * 300])
def test_a_debug_link_names_one_file(made: Parts, tmp_path: Path, name: str) -> None:
    raw = (name.encode() + b"\0").ljust((len(name) // 4 + 1) * 4, b"\0") + b"\0\0\0\1"
    (tmp_path / "link").write_bytes(raw)
    objcopy = need_program("objcopy", "binutils")
    section = f".gnu_debuglink={tmp_path / 'link'}"
    subprocess.run(
        [objcopy, "--remove-section", ".gnu_debuglink", made.program, tmp_path / "bare"], check=True
    )
    hostile = tmp_path / "hostile"
    subprocess.run([objcopy, "--add-section", section, tmp_path / "bare", hostile], check=True)
    assert elf_debug_info(str(hostile)) == (False, None)


@pytest.mark.build
def test_by_build_id_in_the_folder_of_that_machine(made: Parts, tmp_path: Path) -> None:
    name = f".build-id/{made.build_id[:2]}/{made.build_id[2:]}.debug"
    here = debug_files._DEBUG / name
    here.parent.mkdir(parents=True)
    # The build id of another file does not do.
    shutil.copy("/bin/sh", here)
    assert debug_file(made.program) == made.program
    root = tmp_path / "root"
    there = root / debug_files._DEBUG.relative_to("/") / name
    there.parent.mkdir(parents=True)
    shutil.copy(made.debug, there)
    assert debug_file(made.program, root) == there
    assert debug_file(made.program) == made.program


@pytest.mark.build
@pytest.mark.parametrize(
    "place", ["lib/modules/1.2/vmlinux", "boot/vmlinux-1.2", "boot/vmlinux-1.2.debug"]
)
def test_a_kernel_by_its_release_and_build_id(made: Parts, place: str) -> None:
    path = debug_files._DEBUG / place
    path.parent.mkdir(parents=True)
    shutil.copy(made.whole, path)
    assert kernel_debug_elf(made.build_id, "1.2") == path
    assert kernel_debug_elf(made.build_id, "1.3") is None
    assert kernel_debug_elf("ab" * 20, "1.2") is None
    assert kernel_debug_elf(None, "1.2") is None


@pytest.mark.build
def test_a_kernel_tree_that_one_stands_in(
    made: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(made.whole, "vmlinux")
    assert kernel_debug_elf(made.build_id, "") == Path("vmlinux")


@pytest.mark.build
def test_a_program_that_perf_kept(made: Parts, tmp_path: Path) -> None:
    kept = tmp_path / "home/.debug/.build-id" / made.build_id[:2] / made.build_id[2:] / "elf"
    kept.parent.mkdir(parents=True)
    shutil.copy("/bin/sh", kept)
    # A file that was built anew, or is gone.
    for path, reason in (("/bin/sh", "other-build"), ("/not/here/prog", "no-file")):
        assert Binaries().find(path, made.build_id) == reason
    shutil.copy(made.program, kept)
    assert Binaries().find("/bin/sh", made.build_id) == kept
    assert Binaries().find("/not/here/prog", made.build_id) == kept


def test_kallsyms_that_perf_kept(tmp_path: Path) -> None:
    build_id = "ab" * 20
    kept = tmp_path / "home/.debug/.build-id" / build_id[:2] / build_id[2:] / "kallsyms"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(KERNEL)

    def found(start: int) -> bytes:
        mapping: Any = SimpleNamespace(name="[kernel.kallsyms]_text", offset=start)
        return running_kernel.found_kallsyms(build_id, [mapping])

    assert found(0xFFFF_FFFF_8100_0000) == KERNEL
    # In another boot, KASLR had put it elsewhere.
    assert found(0xFFFF_FFFF_8B00_0000) == MOVED
    assert running_kernel.found_kallsyms("cd" * 20, []) == b""
    assert running_kernel.found_kallsyms(None, []) == b""
