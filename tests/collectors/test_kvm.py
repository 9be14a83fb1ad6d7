"""Guests run on KVM where that is fast: a nested one may start, and emulate each instruction."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.guest import qemu as emulator
from profdiff.collectors.guest.qemu import find_emulator


def _with_kvm(monkeypatch: pytest.MonkeyPatch, folder: Path, answer: str) -> bool:
    """Whether guests run on KVM where the firmware's answer there is ``answer``, a command."""
    need_program(X86_64.emulator, X86_64.qemu_package)
    program = folder / X86_64.emulator
    own = f'case "$*" in *-bios*kvm*|*kvm*-bios*) {answer};; *kvm*) exit 0;; esac'
    program.write_text(f'#!/bin/sh\n{own}\nexec {shutil.which(X86_64.emulator)} "$@"\n')
    program.chmod(0o755)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path == "/dev/kvm" or may(path, mode))
    monkeypatch.setattr(emulator, "_KVM_SECONDS", 2)
    return find_emulator(X86_64, program).kvm


def test_what_runs_a_loop_in_time_is_kvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _with_kvm(monkeypatch, tmp_path, "exit 33")


@pytest.mark.parametrize("answer", ["exec sleep 60", "exit 1"])
def test_what_does_not_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str
) -> None:
    started = time.monotonic()
    assert not _with_kvm(monkeypatch, tmp_path, answer)
    assert time.monotonic() - started < 30


def test_the_loop_ends_as_it_should() -> None:
    need_program(X86_64.emulator, X86_64.qemu_package)
    assert X86_64.loop
    with temporary_folder() as folder:
        (folder / "rom").write_bytes(X86_64.loop.rom)
        command = [X86_64.emulator, "-nodefaults", "-display", "none", "-M", "q35", "-cpu", "max"]
        command += ["-bios", str(folder / "rom"), *X86_64.loop.arguments]
        status = subprocess.run(command, check=False, timeout=60).returncode
    assert status == X86_64.loop.right
