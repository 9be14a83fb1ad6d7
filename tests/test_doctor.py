"""profdiff doctor: what is there, what is missing, and what mends it."""

from pathlib import Path

from support import need_kernel, profdiff


def test_this_machine() -> None:
    shown = profdiff("doctor").stdout
    for what in (
        "perf_event_paranoid",
        "kptr_restrict",
        "ASLR",
        "qemu-system-x86_64",
        "mitigations",
    ):
        assert what in shown
    assert "\x1b" not in shown  # a pipe is no terminal
    assert not [line for line in shown.splitlines() if line != line.rstrip()]


def test_what_is_missing_has_its_command(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    shown = profdiff("doctor", env={"PATH": str(tmp_path)}).stdout
    lines = {line.split()[1]: line for line in shown.splitlines() if line.startswith("missing")}
    assert lines["perf"].rstrip().endswith("apt-get install linux-perf")
    assert lines["qemu-system-aarch64"].rstrip().endswith("apt-get install qemu-system-arm")


def test_a_guest() -> None:
    shown = profdiff("doctor", "--kernel", f"k={need_kernel('v6.18.15')}").stdout
    assert "k: a guest, x86_64" in shown
    assert "vmlinux.zst" in shown
