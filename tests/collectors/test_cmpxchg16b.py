"""QEMUs that lose the flags behind cmpxchg16b: how they are known, what is taken instead, and that
guests boot with any memory (docs/exact-collector.md)."""

import os
import re
import shutil
from pathlib import Path

import pytest
from qemus import NIGHTLY, QEMU_10, QEMU_11, another_qemu
from support import need_debian, need_program, run_guests

from profdiff.collectors.architecture import ARM64, X86_64
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest import qemu as emulator
from profdiff.collectors.guest.qemu import Qemu, find_emulator, find_qemu
from profdiff.session.session import Session
from profdiff.views.kernels.state import guest

RIGHT, WRONG = 33, 35


@pytest.fixture(autouse=True)
def _without_kvm(monkeypatch: pytest.MonkeyPatch) -> None:
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != "/dev/kvm" and may(path, mode))


def stand_in(folder: Path, status: int) -> Path:
    """This machine's QEMU, but for what it says of the flags."""
    need_program(X86_64.emulator, X86_64.qemu_package)
    program = folder / X86_64.emulator
    folder.mkdir()
    told = f'case "$*" in *isa-debug-exit*) exit {status};; esac'
    program.write_text(f'#!/bin/sh\n{told}\nexec {shutil.which(X86_64.emulator)} "$@"\n')
    program.chmod(0o755)
    return program


def here(monkeypatch: pytest.MonkeyPatch, *programs: Path) -> None:
    """Let this machine have these QEMUs, and no other."""
    folders = [str(program.parent) for program in programs]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, "/usr/bin", "/bin"]))
    monkeypatch.setattr(emulator, "every_program", lambda _name: iter(programs))


def test_this_machines_qemu() -> None:
    """QEMU 8.0 has 5f0dd8cd33cb (target/i386: Inline cmpxchg16b); no Debian has it in a 7.2."""
    qemu = find_emulator(X86_64, Path(shutil.which(X86_64.emulator) or pytest.skip("no QEMU")))
    (major,) = re.findall(r"version (\d+)", qemu.version)
    assert qemu.without == (("cx16",) if int(major) < 8 else ())
    assert find_emulator(ARM64, qemu.program).without == ()


@pytest.mark.network
@pytest.mark.parametrize("suite", [QEMU_10, QEMU_11])
def test_newer_qemus(suite: str) -> None:
    assert another_qemu(suite, X86_64).without == ()


def test_a_qemu_that_does_not_tell_has_it(tmp_path: Path) -> None:
    assert find_emulator(X86_64, stand_in(tmp_path / "silent", 1)).without == ("cx16",)


def test_another_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, right = stand_in(tmp_path / "wrong", WRONG), stand_in(tmp_path / "right", RIGHT)
    no_qemu = stand_in(tmp_path / "none", RIGHT)
    no_qemu.write_text("#!/bin/sh\nexit 1\n")
    here(monkeypatch, wrong, no_qemu, right)
    assert find_emulator(X86_64) == find_emulator(X86_64, right)
    # The one that somebody names is it, also in a profdiff that would take another.
    assert find_emulator(X86_64, wrong).program == wrong
    # It must load the plugin as well.
    refusal = lambda path, *_: "no" if path == right else None  # noqa: E731
    monkeypatch.setattr(emulator, "plugin_refusal", refusal)
    assert find_qemu(X86_64, None, {2: ("tcg_plugin_api2", "")}).program == wrong


def test_one_whose_plugins_count_wrongly_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QEMU 8.0 to 8.2: docs/exact-collector.md."""
    wrong, right = stand_in(tmp_path / "wrong", WRONG), stand_in(tmp_path / "right", RIGHT)
    here(monkeypatch, wrong, right)
    monkeypatch.setattr(emulator, "plugin_refusal", lambda *_: None)
    for api, taken in ((1, wrong), (2, right)):
        found = find_qemu(X86_64, None, {api: ("tcg_plugin_api1", "")})
        assert (found.program, found.plugin_api) == (taken, api)


def test_guests_go_without_it_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = stand_in(tmp_path / "wrong", WRONG)
    here(monkeypatch, wrong)
    qemu = find_emulator(X86_64)
    assert "max,-rdrand,-rdseed,-cx16" in qemu._processor()
    assert qemu.described([]).without == ["cx16"]
    assert "qemu64,-rdrand,-rdseed,-cx16" in qemu.with_cpu("qemu64")._processor()
    # Who sets it has it.
    asked = qemu.with_cpu("max,cx16=on")
    assert "max,cx16=on,-rdrand,-rdseed" in asked._processor()
    assert asked.described([]).without == []


@pytest.mark.network
def test_a_qemu_10_beside_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = another_qemu(QEMU_10, X86_64)
    here(monkeypatch, stand_in(tmp_path / "wrong", WRONG), newer.program)
    assert Exact().emulator(X86_64, None) == newer


def test_reports_say_what_guests_go_without(recorded: Path, qemu: Qemu) -> None:
    manifest = Session.open(recorded).manifest
    runs = [run for run in manifest.runs if run.qemu]
    assert runs
    assert all(run.qemu and run.qemu.without == list(qemu.without) for run in runs)
    assert ("without cx16, 1 vCPU" in guest(manifest, runs, 1)) == bool(qemu.without)


def boots(qemu: Qemu, kernel: str, memory: int, folder: Path, restored: bool = False) -> None:
    image = need_debian(kernel).image
    assert image
    options = {"calls": False, "restored": restored, "memory": memory}
    (run,) = run_guests(qemu, image, ["/bin/true"], folder, count=1, **options)
    assert run.failure is None


@pytest.mark.guest
@pytest.mark.network
def test_a_guest_of_1_gib_boots(qemu: Qemu, tmp_path: Path) -> None:
    """A double fault in kmem_cache_alloc_noprof(), with 7.2.22 and cmpxchg16b. Restored where this
    QEMU with these arguments has booted it before."""
    boots(qemu, "debian:bookworm-backports", 1024, tmp_path, restored=True)


@NIGHTLY
@pytest.mark.guest
@pytest.mark.network
@pytest.mark.parametrize("memory", [512, 640, 768, 1024, 2048, 3072])
@pytest.mark.parametrize("kernel", ["bookworm", "bookworm-backports", "trixie-backports"])
@pytest.mark.parametrize("suite", ["installed", QEMU_10, QEMU_11])
def test_guests_boot_with_any_memory(
    qemu: Qemu, suite: str, kernel: str, memory: int, tmp_path: Path
) -> None:
    one = qemu if suite == "installed" else another_qemu(suite, X86_64)
    boots(one, f"debian:{kernel}", memory, tmp_path)
