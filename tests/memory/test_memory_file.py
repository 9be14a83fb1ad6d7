"""The file of what allocators gave out: what is read, and what a stranger may have written; and
what cannot be recorded."""

import subprocess
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import need_program

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.exact import allocations
from profdiff.collectors.exact.allocations import Allocations, Tally
from profdiff.collectors.kernels.files import KernelFiles

TEXT = f"""\
cache 192 10 3 7 filp
cache 64 5 5 0 kmalloc-rnd-03-64
cache 64 2 1 1 kmalloc-64
cache 0 1 0 1{" "}
pages 0 20 4 16
pages 3 1 0 1
end
"""


def load(folder: Path, text: str) -> Allocations:
    (folder / "file").write_text(text)
    return Allocations.load(folder / "file")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = load(tmp_path, TEXT)
    assert found.objects == {
        ("filp", 192): Tally(10, 3, 7),
        # Which of several caches of a size an object comes from, the caller decides.
        ("kmalloc-64", 64): Tally(7, 6, 1),
        ("?", 0): Tally(1, 0, 1),
    }
    assert found.pages == {0: Tally(20, 4, 16), 3: Tally(1, 0, 1)}


def test_a_shorter_run_is_subtracted(tmp_path: Path) -> None:
    short = load(tmp_path, "cache 192 4 1 3 filp\ncache 32 1 0 1 pid\npages 0 5 5 0\nend\n")
    found = load(tmp_path, TEXT).less(short)
    assert found.objects["filp", 192] == Tally(6, 2, 4)
    assert found.objects["pid", 32] == Tally(-1, 0, -1)
    assert found.pages == {0: Tally(15, -1, 16), 3: Tally(1, 0, 1)}


def test_a_cut_or_other_line_is_damage(tmp_path: Path) -> None:
    for text in ("", TEXT.removesuffix("end\n"), "more\n" + TEXT, "pages 32 1 1 1\nend\n"):
        with pytest.raises(SessionError, match="is damaged: record this run again"):
            load(tmp_path, text)
    with pytest.raises(SessionError, match="cannot read"):
        Allocations.load(tmp_path / "none")


@settings(max_examples=examples(200), deadline=None)
@given(at=st.integers(0, len(TEXT) - 1), byte=st.binary(min_size=1, max_size=1))
def test_any_bytes_are_counts_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: bytes
) -> None:
    path = tmp_path_factory.mktemp("memory") / "file"
    path.write_bytes(TEXT.encode()[:at] + byte + TEXT.encode()[at + 1 :])
    try:
        found = Allocations.load(path)
    except SessionError:
        return
    every = [*found.objects.values(), *found.pages.values()]
    assert all(0 <= number < 10**19 for tally in every for number in tally)


def test_what_cannot_be_recorded_is_said() -> None:
    with pytest.raises(InputError, match="old has no debug ELF: name IMAGE,vmlinux=ELF"):
        allocations.refuse([KernelFiles("old", "SPEC")], "x86_64")
    with pytest.raises(InputError, match="only guests of x86-64"):
        allocations.refuse([], "aarch64")


@pytest.mark.build
def test_a_kernel_before_folio_batches_is_refused(tmp_path: Path) -> None:
    need_program("gcc")
    source, file = tmp_path / "a.c", tmp_path / "vmlinux"
    source.write_text("int kfree; int kmem_cache_free; int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-o", file, source], check=True)
    with pytest.raises(InputError, match=r"k has no function .*: kernels since Linux 6\.12 have"):
        allocations.refuse([KernelFiles("k", "SPEC", debug_elf=file)], "x86_64")
