"""What consoles say of why a kernel failed. Those in ``consoles/`` are of real kernels:

``sysrq``: Debian's 6.12.95, ``echo c > /proc/sysrq-trigger``. ``oops``, ``oops-panic`` (with
oops=panic), ``oops-in-init``: v6.12.107, in which QEMU's gdb stub put a load from address 0 at the
start of ksys_sync() or __x64_sys_mprotect(). ``init-killed``: busybox's code overwritten through
/proc/1/mem. ``deadlock``: a ramfs that fills the memory. ``out-of-memory``: ``tail /dev/zero``.
``no-init``: v6.18.15 with rdinit=/nothing.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.collectors.guest.result import Left, agents_result, read, trouble

CONSOLES = Path(__file__).parent / "consoles"
NULL = "BUG: kernel NULL pointer dereference, address: 0000000000000000"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sysrq", "sysrq triggered crash, in sysrq_handle_crash()"),
        ("sysrq-arm64", "sysrq triggered crash, in sysrq_handle_crash()"),
        ("oops", f"{NULL}, in ksys_sync()"),
        ("oops-panic", f"{NULL}, in ksys_sync() (then: Fatal exception)"),
        (
            "oops-in-init",
            f"{NULL}, in __x64_sys_mprotect() (then: Attempted to kill init! exitcode=0x00000009)",
        ),
        (
            "init-killed",
            "traps: init[1] trap invalid opcode ip:4c9000 sp:7fffffffd980 error:0 in "
            "busybox[c9000,401000+184000] (then: Attempted to kill init! exitcode=0x00000004)",
        ),
        ("deadlock", "System is deadlocked on memory"),
        (
            "no-init",
            "check access for rdinit=/nothing failed: -2, ignoring (then: VFS: Unable to mount "
            'root fs on "" or unknown-block(0,0))',
        ),
    ],
)
def test_the_cause_is_told_and_not_what_followed(name: str, said: str) -> None:
    lines = read(CONSOLES / f"{name}.txt")
    found = trouble(lines)
    assert found
    assert str(found) == said
    assert 0 < len(found.lines) <= 12
    # Where there was a panic, its own line is shown too.
    panicked = any("Kernel panic" in line for line in lines)
    assert panicked == (found.panic is not None)
    assert panicked == any("Kernel panic" in line for line in found.lines)


def test_a_workload_that_the_kernel_killed(tmp_path: Path) -> None:
    """What it was killed for stands behind what became of it."""
    (tmp_path / "console").write_bytes((CONSOLES / "out-of-memory.txt").read_bytes())
    (tmp_path / "status").write_text("signal 9\n")
    files = {"console": "console", "status": "status"}
    left = Left(tmp_path, files, None, {}, emulated=True, has_marks=False)
    failure = agents_result(left, lambda _: []).failure
    assert failure
    assert failure.message.startswith(
        "the workload was killed by signal 9; the kernel says: Out of memory: Killed process 50 "
        "(tail) total-vm:73288kB"
    )


def test_a_boot_that_went_well_says_nothing(tmp_path: Path) -> None:
    assert trouble([]) is None
    assert read(tmp_path / "none") == []
    lines = ["[    0.1] Run /init as init process", "[    0.2] Oops is a word in the middle"]
    assert trouble(lines) is None


def test_another_architecture_and_who_printed_it() -> None:
    """As arch/arm64/mm/fault.c prints it, with CONFIG_PRINTK_CALLER."""
    found = trouble(
        [
            "[    1.2][    T7] Unable to handle kernel NULL pointer dereference at virtual address "
            "0000000000000000",
            "[    1.2][    T7] Internal error: Oops: 0000000096000004 [#1] SMP",
            "[    1.2][    T7] pc : do_it+0x1c/0x40",
            "[    1.3][    T7] Kernel panic - not syncing: Oops: Fatal exception",
        ]
    )
    assert found
    assert found.text.startswith("Unable to handle kernel NULL pointer")
    assert (found.function, found.panic) == ("do_it", "Oops: Fatal exception")


@given(st.lists(st.text(max_size=40) | st.sampled_from(["Oops: ", "RIP: 0010:", "BUG: \x1b[2J"])))
def test_a_guest_may_print_anything(lines: list[str]) -> None:
    found = trouble(lines)
    if found:
        assert "\x1b" not in str(found)
        assert "\n" not in str(found)
