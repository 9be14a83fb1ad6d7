"""A workload in varied states: what its process has then, counted the same each time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from qemus import NIGHTLY
from restored import GUEST, Restorer, replace_guest

from profdiff.collectors.guest.boot import Variation, VariedState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = pytest.mark.guest

# What it has: files are those that it cannot have opened, and the lowest that is free.
SEEN = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef MARKS
#include "profdiff.h"
#else
#define PROFDIFF_START()
#define PROFDIFF_STOP()
#endif
int main(void)
{
	char line[512], *text = getenv("PROFDIFF_STATE");
	int mappings = 0, files = 0, free_file = dup(0);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		mappings++;
	for (int file = 20; file < 500; file++)
		files += fcntl(file, F_GETFD) >= 0;
	PROFDIFF_START();
	for (int n = 0; n < 20; n++) {
		char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*at = 1;
		munmap(at, 4096);
	}
	PROFDIFF_STOP();
	printf("mappings %d files %d free %d ", mappings, files, free_file);
	printf("environment %ld pid %d stack %p\n", text ? (long)strlen(text) : -1, getpid(),
		(void *)line);
	return 0;
}
"""


def told(folder: Path) -> dict[str, int]:
    words = (folder / "stdout").read_text().split()
    return {name: int(value, 0) for name, value in zip(words[::2], words[1::2], strict=True)}


def check(plain: dict[str, int], varied: dict[str, int], state: VariedState) -> None:
    assert varied["mappings"] - plain["mappings"] == state.mappings + state.apart
    assert varied["files"] - plain["files"] == state.files
    assert varied["free"] == plain["free"]
    assert (plain["environment"], varied["environment"]) == (-1, state.environment)
    assert varied["pid"] - plain["pid"] >= state.processes
    assert varied["stack"] != plain["stack"]


def test_a_state_is_arranged_around_the_workload(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    """Of a static program with marks. The same state counts the same, bit for bit, and others do
    not."""
    program = compile_c("seen", SEEN, "-static", "-DMARKS")
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", observe=True)
    outcome, folder = runs.run([program])
    plain, counts = told(folder), {(folder / "counts.bin").read_bytes()}
    assert outcome.window is not None
    assert (folder / "observed").exists()
    for number in (1, 2):
        variation = Variation.of_state(0, number, GUEST.settle)
        outcome, folder = runs.run([program], variation)
        assert outcome.failure is None
        assert outcome.window is not None and outcome.window.count == 1
        assert not (folder / "observed").exists()
        assert variation.state is not None
        check(plain, told(folder), variation.state)
        counts.add((folder / "counts.bin").read_bytes())
    assert len(counts) == 3
    assert runs.counts([program], variation) in counts


def test_arranging_is_not_counted(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    """Of a whole command, a dynamic one: its window rests while its process is arranged."""
    program = compile_c("small", "int main(void) { return 0; }")
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs")
    plain, _ = runs.run([program])
    state = VariedState(60, 0, 0, 0, 0, 0, 0, 0)
    varied, _ = runs.run([program], Variation(1, GUEST.settle, state))
    assert varied.window is not None
    assert (varied.window.kind, varied.window.count) == ("command", 2)
    counts = [one.measured[0].values[0] for one in (plain, varied)]
    # 60 calls under ptrace() are half a million, and exec without the program is less than half.
    assert counts[0] * 0.75 < counts[1] < counts[0] + 200_000, counts


@NIGHTLY
def test_a_booted_guest_has_states_too(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    program = compile_c("seen", SEEN, "-static", "-DMARKS")
    guest = replace_guest(GUEST, restored=False)
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", guest=guest)
    variation = Variation.of_state(0, 1, GUEST.settle)
    found = []
    for each in (Variation(), variation):
        outcome, folder = runs.run([program], each)
        assert outcome.failure is None
        found.append(told(folder))
    assert variation.state is not None
    check(*found, variation.state)


@pytest.mark.network
def test_arm64(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    assert arm64_kernel.image is not None
    source = tmp_path / "seen.c"
    source.write_text("#define MARKS\n" + SEEN)
    runs = Restorer(arm64_qemu, arm64_kernel.image, tmp_path / "runs")
    variation = Variation.of_state(0, 1, GUEST.settle)
    found = []
    for each in (Variation(), variation):
        outcome, folder = runs.run([source], each)
        assert outcome.failure is None
        found.append(told(folder))
    assert variation.state is not None
    check(*found, variation.state)
