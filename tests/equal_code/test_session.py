"""What a session executed, in another kernel."""

from pathlib import Path

import pytest
from equal_code.linked import functions, link
from support import unclaimed
from synthetic_session import counts_file, exact_session

from profdiff.base.errors import InputError
from profdiff.evidence.equal_code import EqualCode
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.symbolization._native import elf_build_id

pytestmark = [pytest.mark.build, pytest.mark.build]

KERNEL = """// kernel.c
int counter = 3;
int schedule(int i) { return i + 1; }
int executed(int i) { return i * counter; }
int idle(int i) { return i * 5; }
"""
INSERTED = "// more.c\nint inserted(int i) { return i; }\nint more_data = 4;\n"
MOVED = 0x1C00000
ID = ["-Wl,--build-id"]


@pytest.fixture
def vmlinux(tmp_path: Path) -> Path:
    (tmp_path / "built").mkdir()
    return link(tmp_path / "built", KERNEL, flags=ID)


def other(tmp_path: Path, old: str = "", new: str = "") -> Path:
    return link(tmp_path / "built", INSERTED, KERNEL.replace(old, new), flags=ID)


def executed(tmp_path: Path, vmlinux: Path, *more: int) -> Session:
    """A session whose kernels executed schedule() and executed(), in a guest with KASLR."""
    known = functions(vmlinux)
    told = "".join(f"{address + MOVED:016x} T {name}\n" for name, address in known.items())
    session = exact_session(tmp_path / "s.profdiff", files={"kallsyms": told.encode()})
    places = [known["schedule"] + MOVED, known["executed"] + MOVED, *more]
    for run in session.manifest.runs:
        counts = counts_file([(address, 7) for address in sorted(places)])
        session.path(run.files["counts"]).write_bytes(counts)
    build_id = elf_build_id(str(vmlinux))
    kernels = [
        m.replace(one, debug_elf=str(vmlinux), build_id=build_id, symbols=None)
        for one in session.manifest.kernels
    ]
    session.save(m.replace(session.manifest, kernels=kernels))
    return Session.open(unclaimed(session.folder))


def test_layout_and_what_never_ran_are_no_difference(tmp_path: Path, vmlinux: Path) -> None:
    session = executed(tmp_path, vmlinux)
    for candidate in (vmlinux, other(tmp_path), other(tmp_path, "i * 5", "i * 6")):
        found = EqualCode.of(session, "base", candidate)
        assert found.equal
        assert found.functions == 2
        assert found.summary == "the same code in all 2 executed functions"


@pytest.mark.parametrize(
    ("old", "new", "why"), [("i + 1", "i + 2", "instructions"), ("= 3", "= 4", "data")]
)
def test_what_ran_is_told(tmp_path: Path, vmlinux: Path, old: str, new: str, why: str) -> None:
    found = EqualCode.of(executed(tmp_path, vmlinux), "new", other(tmp_path, old, new))
    assert not found.equal
    assert [one.why for one in found.different] == [why]
    assert found.different[0].function in found.summary


def test_code_of_modules_makes_it_unequal(tmp_path: Path, vmlinux: Path) -> None:
    session = executed(tmp_path, vmlinux, 0xFFFFFFFFC0000010)
    found = EqualCode.of(session, "base", vmlinux)
    assert not found.equal
    assert [one.function for one in found.unknown] == ["code outside of vmlinux"]


def test_a_debug_elf_that_is_gone_makes_it_unequal(tmp_path: Path, vmlinux: Path) -> None:
    session = executed(tmp_path, vmlinux)
    candidate = other(tmp_path)
    vmlinux.unlink()
    found = EqualCode.of(session, "base", candidate)
    assert not found.equal
    assert "is gone" in found.summary


def test_a_label_without_runs_is_not_equal(tmp_path: Path, vmlinux: Path) -> None:
    found = EqualCode.of(executed(tmp_path, vmlinux), "third", vmlinux)
    assert not found.equal
    assert "third has no exact counts" in found.summary


def test_what_is_no_kernel_is_refused(tmp_path: Path, vmlinux: Path) -> None:
    session = executed(tmp_path, vmlinux)
    text = tmp_path / "text"
    text.write_text("no kernel")
    arm64 = link(tmp_path / "built", KERNEL, architecture="aarch64")
    for candidate in (text, arm64, tmp_path / "absent"):
        with pytest.raises(InputError) as told:
            EqualCode.of(session, "base", candidate)
        assert "\n" not in str(told.value)
        assert candidate.name in str(told.value)
