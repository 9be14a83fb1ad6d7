"""Restored machines whose workload, cache or guest does its worst."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from restored import PANICS, Restorer, replace_guest
from support import EXAMPLE, LIGHT, error_line, profdiff

from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest

# Says that it hands over more than there is, or fills the memory with noise, and ends the guest.
HOSTILE = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open("/sys/bus/pci/devices/0000:00:05.0/resource2", O_RDWR);
	uint8_t *shared = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return 1;
	for (long at = 4096; at < 16 << 20; at++)
		shared[at] = argc > 1 ? at * 2654435761u >> 13 : 0;
	uint64_t answer[2] = { 0x31534e41464450, -1 };
	memcpy(shared + 2048, answer, sizeof(answer));
	reboot(RB_AUTOBOOT);
	return 1;
}
"""


@pytest.fixture
def runs(qemu: Qemu, new_kernel: Path, tmp_path: Path) -> Restorer:
    return Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", calls=False)


@pytest.mark.parametrize("words", [[], ["noise"]])
def test_a_guest_that_hands_over_garbage(
    runs: Restorer, compile_c: Callable[..., Path], words: list[str]
) -> None:
    program = compile_c("hostile", HOSTILE, "-static")
    result, folder = runs.run([program, *words])
    assert result.failure
    assert result.failure.kind == "protocol"
    assert not {"stdout", "kallsyms"} & result.files.keys()
    assert not list((runs.folder / "work").glob("*.shared"))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 8 << 20


def test_a_panic_in_the_workload(runs: Restorer) -> None:
    result, _ = runs.run(["sh", "-c", PANICS])
    assert result.failure
    assert result.failure.kind == "panic"
    assert "compulsory panic_on_oom is enabled" in result.failure.message


def test_a_workload_without_end(runs: Restorer) -> None:
    """The machine is there already: only the run has a limit of that kind."""
    assert runs.run([EXAMPLE, "4", "5"])[0].failure is None
    runs.guest = replace_guest(runs.guest, timeout=8)
    result, _ = runs.run(["sh", "-c", "while :; do :; done"])
    assert result.failure
    assert result.failure.kind == "timeout"
    assert "while the workload ran" in result.failure.message


def test_a_workload_that_fills_the_disk(runs: Restorer) -> None:
    command = "cat /dev/zero > /work/full; exit 3"
    result, _ = runs.run(["sh", "-c", command])
    assert result.failure
    # The next one begins with the machine as it was.
    assert runs.run([EXAMPLE, "4", "5"])[0].failure is None


@pytest.mark.parametrize("small_disk", ["10m"], indirect=True)
def test_a_temporary_folder_without_room(
    new_kernel: Path, small_disk: Path, tmp_path: Path
) -> None:
    """Not that QEMU was killed: no guest starts without room for the memory that it shares."""
    words = ["--kernel", f"a={new_kernel}", "--aa", "1", "--no-call-tree", "-o", tmp_path / "s"]
    result = profdiff(
        *("record", "--restore", *words, "--", EXAMPLE, "4", "5"),
        env={"TMPDIR": str(small_disk)},
        status=2,
    )
    assert error_line(result) == (
        f"{small_disk}: No space left on device: make room there, or set TMPDIR to a folder with "
        "more, and run the same command again"
    )
    assert list(small_disk.iterdir()) == []


def test_a_kernel_that_does_not_boot_is_no_reason_to_boot_the_others(
    runs: Restorer, tmp_path: Path
) -> None:
    runs.guest = replace_guest(runs.guest, append="rdinit=/nowhere")
    result, _ = runs.run([EXAMPLE, "4", "5"])
    assert result.failure
    assert result.failure.kind == "boot"


# recording/test_fallback.py has the same without guests.
@pytest.mark.nightly
def test_all_guests_boot_where_a_machine_cannot_be_restored(
    new_kernel: Path, tmp_path: Path
) -> None:
    """One line says why, the session knows it, and resuming goes on like that."""
    session, kernel = tmp_path / "s", new_kernel
    words = ["--kernel", f"a={kernel}", "--aa", "1", "--repeat", "1", "--settle", "0"]
    # Without the plugin, which a boot takes longer with.
    words += ["--append", f"pci=off {LIGHT}", "--collector", "timed"]
    words += ["-o", str(session), "--restore"]
    command = ["--", EXAMPLE, "4", "5"]
    told = profdiff("record", *words, *command).stderr
    assert told.count("no machine can be restored, guests boot") == 1
    guest = json.loads((session / "manifest.json").read_text())["guest"]
    assert guest["restored"] is False
    assert "/sys/bus/pci/devices" in guest["not_restored"]
    again = profdiff("record", *words, *command).stderr
    assert "all runs are already recorded" in again
    report = json.loads(profdiff("report", str(session), "--json", "-").stdout)
    assert report["guest"]["restored"] is False
    assert report["guest"]["not_restored"] == guest["not_restored"]


def test_a_session_never_mixes(new_kernel: Path, tmp_path: Path) -> None:
    session = tmp_path / "s"
    words = ["--kernel", f"a={new_kernel}", "--aa", "1"]
    words += ["--no-call-tree", "-o", str(session)]
    command = ["--", EXAMPLE, "4", "5"]
    profdiff("record", "--restore", *words, *command)
    manifest = json.loads((session / "manifest.json").read_text())
    assert manifest["guest"]["restored"] is True
    assert all("defer" in run["qemu"]["arguments"] for run in manifest["runs"])
    assert "restored" in profdiff("report", str(session)).stdout
    refused = profdiff("record", "--no-restore", *words, *command, status=2)
    assert "holds a recording with --restore" in error_line(refused)
