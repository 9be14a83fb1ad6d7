"""profdiff doctor: what is there, what is missing, and what mends it."""

import re
from pathlib import Path

import pytest
from support import need_kernel, profdiff

from profdiff.collectors.programs import newer


def test_this_machine() -> None:
    shown = profdiff("doctor").stdout
    for what in (
        "perf_event_paranoid",
        "kptr_restrict",
        "ASLR",
        "qemu-system-x86_64",
        "mitigations",
        "recording in x86-64 guests",
        "recording in arm64 guests",
        "recording in riscv64 guests",
        "several machines: record --cluster",
    ):
        assert what in shown
    assert "\x1b" not in shown  # a pipe is no terminal
    assert not [line for line in shown.splitlines() if line != line.rstrip() or len(line) > 100]
    last = shown.splitlines()[-1]
    able = re.search(r"^You can record (.*) guests\.", last)
    assert (able is not None) == ("missing  qemu" not in shown)
    assert able is None or "x86-64" in able[1]


def rows(shown: str) -> list[str]:
    """A line for each finding: what stands below it belongs to it, as a shell would read it."""
    return re.sub(r"\\?\n +", " ", shown).replace("  ", " ").splitlines()


def test_what_is_missing_has_its_command(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    shown = profdiff("doctor", env={"PATH": str(tmp_path)}).stdout
    # What only programs of the user's own need is noted where the wheel brings its agents.
    states = ("missing", "note")
    lines = {line.split()[1]: line for line in rows(shown) if line.startswith(states)}
    assert lines["perf"].rstrip().endswith("apt-get install linux-perf")
    assert lines["qemu-system-aarch64"].rstrip().endswith("apt-get install qemu-system-arm")
    assert lines["qemu-system-riscv64"].rstrip().endswith("apt-get install qemu-system-misc")
    cross = "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    assert lines["aarch64-linux-gnu-gcc"].rstrip().endswith(cross)
    # "static libc" of all architectures, the last is riscv64's.
    cross = "apt-get install gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
    assert lines["static"].rstrip().endswith(cross)
    unable = "Before you record x86-64, arm64 and riscv64 guests: fix what is missing above."
    assert shown.splitlines()[-1] == unable


def test_a_compiler_without_a_static_libc(tmp_path: Path) -> None:
    """gcc says the name alone of a file that it does not have."""
    (tmp_path / "sh").symlink_to("/bin/sh")
    compiler = tmp_path / "aarch64-linux-gnu-gcc"
    compiler.write_text("#!/bin/sh\necho libc.a\n")
    compiler.chmod(0o755)
    shown = profdiff("doctor", env={"PATH": str(tmp_path)}).stdout
    (_, shown) = shown.split("recording in arm64 guests")
    arm64 = rows(shown.partition("recording in riscv64 guests")[0])
    (line,) = [line for line in arm64 if " static libc " in line]
    assert line.startswith(("missing", "note"))
    assert "libc6-dev-arm64-cross" in line
    assert [line for line in arm64 if line.startswith("ok") and str(compiler) in line]


@pytest.mark.kernel
def test_a_guest() -> None:
    shown = profdiff("doctor", "--kernel", f"k={need_kernel('v6.18.15')}").stdout
    assert "k: a guest, x86_64" in shown
    assert "v6.18.15/vmlinux\n" in shown
    assert shown.endswith("You can record k.\n")


@pytest.mark.parametrize(
    ("release", "suite"),
    [
        ("ID=debian\nVERSION_CODENAME=bookworm\n", "bookworm-backports"),
        ('ID=debian\nVERSION_CODENAME="bookworm"\n', "bookworm-backports"),
        ("ID=debian\nVERSION_CODENAME=trixie\n", ""),
        ("ID=fedora\nVERSION_CODENAME=bookworm\n", ""),
        ("ID=debian\n", ""),
        ("", ""),
    ],
)
def test_where_a_newer_qemu_is(tmp_path: Path, release: str, suite: str) -> None:
    file = tmp_path / "os-release"
    file.write_text(release)
    told = newer("qemu-system-aarch64", file)
    assert told.endswith(f"apt-get install -t {suite} qemu-system-arm" if suite else "")
    assert bool(told) == bool(suite)
    assert newer("qemu-system-x86_64", tmp_path / "absent") == ""


def test_a_newer_qemu_is_offered_where_this_one_is_old() -> None:
    """On Debian 12 with its own QEMU."""
    shown = profdiff("doctor").stdout
    lines = [line for line in rows(shown) if " newer QEMU " in line]
    if "plugin API 1" not in shown or not newer("qemu-system-x86_64"):
        assert not lines
        return
    assert all("apt-get install -t bookworm-backports qemu-system-" in line for line in lines)
    assert lines
