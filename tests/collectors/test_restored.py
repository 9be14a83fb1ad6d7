"""Restored machines count the same, whatever else runs, and know what booted ones know."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import whole_run
from qemus import NIGHTLY, QEMU_10, QEMU_11, another_qemu
from restored import GUEST, Restorer, replace_guest, wait
from support import EXAMPLE

from profdiff.base.cache import cache_folder
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.guest import machine_state
from profdiff.collectors.guest.boot import Variation
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = pytest.mark.guest

SHORT = [EXAMPLE, "40", "5"]
# Threads, a pipe and sleeps: what a scheduler and timers would show.
BUSY = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static int ends[2];
static void *other(void *end)
{
	char one;
	while (read(ends[0], &one, 1) == 1)
		nanosleep(&(struct timespec){ 0, 700000 }, NULL);
	return end;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	if (pipe(ends) || pthread_create(&thread, NULL, other, NULL))
		return 1;
	for (int n = 0; n < (argc > 1 ? atoi(argv[1]) : 20); n++) {
		char *pages = malloc(1 << 20);
		memset(pages, n, 1 << 20);
		if (write(ends[1], pages, 1) != 1)
			return 1;
		free(pages);
	}
	close(ends[1]);
	return pthread_join(thread, NULL);
}
"""
# Where its stack is, what it was given as a random number, and what Python's hashes begin with.
DRAWN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include "profdiff.h"
int main(void)
{
	unsigned long drawn = 0;
	PROFDIFF_START();
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return 1;
	PROFDIFF_STOP();
	const char *seed = getenv("PYTHONHASHSEED");
	printf("%p %lx %s\n", (void *)&drawn, drawn, seed ? seed : "none");
	return 0;
}
"""


@pytest.fixture
def busy(compile_c: Callable[..., Path]) -> Path:
    return compile_c("busy", BUSY, "-static", "-pthread")


@pytest.mark.parametrize("cpus", [pytest.param(1, marks=NIGHTLY), 2])
def test_each_restore_counts_the_same(
    qemu: Qemu, new_kernel: Path, busy: Path, tmp_path: Path, cpus: int
) -> None:
    """In any order, with other workloads before, and beside others."""
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", cpus=cpus)
    first = runs.counts([busy]), runs.counts(SHORT)
    assert len(set(first)) == 2
    assert (runs.counts([busy, "7"]), runs.counts(SHORT)) != first
    assert runs.counts(SHORT) == first[1]
    assert runs.counts([busy]) == first[0]
    with whole_run.processors(2):
        beside = [runs.start(command) for command in ([busy], SHORT, [busy])]
        wait(*(run for run, _ in beside))
    assert all(run.finish().failure is None for run, _ in beside)
    made = [(folder / "counts.bin").read_bytes() for _, folder in beside]
    assert made == [first[0], first[1], first[0]]


@pytest.mark.network
@pytest.mark.parametrize(
    ("suite", "cpus"),
    [(QEMU_10, 1), *(pytest.param(one, 2, marks=NIGHTLY) for one in (QEMU_10, QEMU_11))],
)
def test_with_a_newer_qemu_too(
    new_kernel: Path, busy: Path, tmp_path: Path, suite: str, cpus: int
) -> None:
    qemu = another_qemu(suite, X86_64)
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", cpus=cpus)
    first = runs.counts([busy])
    assert runs.counts(SHORT) != first
    assert runs.counts([busy]) == first


def test_a_machine_that_is_saved_anew_counts_the_same(
    qemu: Qemu, new_kernel: Path, busy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another cache; and where the cache's is damaged, which is found before it is used."""
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", calls=False)
    # Not with noapictimer, which ticks with the HPET: QEMU saves its counter in units of 10 ns.
    first = runs.counts([busy])
    (folder,) = machine_state.states().iterdir()
    with (folder / "machine").open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"damaged")
    before = (folder / "machine").stat()
    assert runs.counts([busy]) == first
    after = (folder / "machine").stat()
    assert (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns)


def test_the_facts_are_those_of_a_boot(qemu: Qemu, new_kernel: Path, tmp_path: Path) -> None:
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", observe=True)
    restored, folder = runs.run(SHORT)
    runs.guest = replace_guest(runs.guest, restored=False)
    booted, other = runs.run(SHORT)
    assert restored.failure is None
    assert booted.failure is None
    assert set(restored.files) == set(booted.files)
    for what in ("version", "cmdline", "notes", "modules", "sections", "vdso", "observed"):
        one, two = (f / r.files[what] for f, r in ((folder, restored), (other, booted)))
        assert one.read_bytes() == two.read_bytes(), what
    for what in ("kallsyms", "config"):
        one, two = (f / r.files[what] for f, r in ((folder, restored), (other, booted)))
        assert gzip.decompress(one.read_bytes()) == gzip.decompress(two.read_bytes()), what
    # The cache's file, under another name, where the disk is the same.
    linked = (folder / restored.files["kallsyms"]).stat()
    if linked.st_dev == cache_folder("states").stat().st_dev:
        assert linked.st_nlink > 1
    assert restored.measured[0].values != [0.0]


def test_varied_restores_differ_by_their_seed(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    program = compile_c("drawn", DRAWN, "-static")
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs")

    def drawn(variation: Variation) -> list[str]:
        result, folder = runs.run([program], variation)
        assert result.failure is None
        # The agent ended the machine, not the kernel.
        assert "reboot" not in (folder / "console.log").read_text()
        return (folder / "stdout").read_text().split()

    one, again, two = (drawn(Variation(seed, GUEST.settle + 0.05)) for seed in (5, 5, 6))
    assert one == again
    assert one[0] != two[0]
    assert one[1] != two[1]
    plain = drawn(Variation())
    assert plain == drawn(Variation())
    assert plain != one
    assert (plain[2], one[2], two[2]) == ("0", "none", "none")


@pytest.mark.network
def test_arm64(arm64_qemu: Qemu, arm64_kernel: KernelFiles, tmp_path: Path) -> None:
    assert arm64_kernel.image
    runs = Restorer(arm64_qemu, arm64_kernel.image, tmp_path / "runs", cpus=2)
    first = runs.counts(SHORT)
    assert runs.counts([EXAMPLE, "60", "5"]) != first
    assert runs.counts(SHORT) == first


def test_a_larger_workload_gets_a_larger_memory(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    """9 MiB, all of which have arrived; what it says goes another way than through the memory."""
    large = compile_c(
        "large",
        "#include <stdio.h>\n"
        "static const char filler[9 << 20] = {1, [(9 << 20) - 1] = 7};\n"
        "int main(void) { for (int n = 0; n < 20 << 10; n++)\n"
        '  printf("%01023d\\n", filler[sizeof(filler) - 1]); return 0; }\n',
        "-static",
    )
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", calls=False)
    result, folder = runs.run([large])
    assert result.failure is None
    assert (folder / "stdout").read_bytes() == (b"0" * 1022 + b"7\n") * (20 << 10)
