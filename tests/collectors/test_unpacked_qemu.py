"""A QEMU in a folder of its own, and one that does not answer."""

import os
import shutil
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.guest import qemu as emulator
from profdiff.collectors.guest.qemu import find_emulator
from profdiff.collectors.workload.elf import read_elf


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def unpacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's QEMU, started by its loader: so it does not find its firmware by itself."""
    need_program(X86_64.emulator, X86_64.qemu_package)
    installed = Path(shutil.which(X86_64.emulator) or "").resolve()
    elf = read_elf(installed)
    firmware = [Path("/usr/share", name) for name in ("qemu", "seabios")]
    modules = next(Path("/usr/lib").glob("*/qemu/accel-tcg-x86_64.so"), None)
    if (
        not elf
        or not elf.interpreter
        or not any((one / "bios-256k.bin").exists() for one in firmware)
    ):
        pytest.skip("QEMU is not Debian's")
    if modules:
        monkeypatch.setenv("QEMU_MODULE_DIR", str(modules.parent))
    (folder / "share").mkdir(parents=True)
    for one in firmware:
        (folder / "share" / one.name).symlink_to(one)
    return script(folder / "bin" / X86_64.emulator, f'exec {elf.interpreter} {installed} "$@"')


def test_a_processor_of_a_qemu_that_was_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its firmware no machine starts, whatever the processor."""
    program = unpacked(tmp_path / "opt", monkeypatch)
    qemu = find_emulator(X86_64, program)
    assert [place.name for place in qemu.firmware] == ["qemu", "seabios"]
    assert qemu.with_cpu("qemu64").cpu == "qemu64"
    with pytest.raises(InputError, match=r"cannot emulate it \(unable to find CPU model 'z9'\)"):
        qemu.with_cpu("z9")
    shutil.rmtree(tmp_path / "opt/share")
    with pytest.raises(InputError, match="could not load PC BIOS"):
        qemu.with_cpu("qemu64")


def test_a_qemu_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "_SECONDS", 1)
    answers = "[ $1 = --version ] && echo 'QEMU emulator version 8.0' && exit"
    hangs = script(tmp_path / "one", f"{answers}\ncase $* in *-cpu*) exec sleep 60;; esac")
    # Whether it can use KVM is asked where it could.
    monkeypatch.setattr(os, "access", lambda _path, _mode: True)
    qemu = find_emulator(X86_64, hangs)
    assert not qemu.kvm
    with pytest.raises(MissingError, match="one does not answer within 1 s: give another QEMU"):
        qemu.with_cpu("max")
    with pytest.raises(MissingError, match="two does not answer within 1 s"):
        find_emulator(X86_64, script(tmp_path / "two", "exec sleep 60"))
