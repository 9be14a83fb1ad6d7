"""Call trees of arm64 kernels against the chains of frame pointers that another plugin reads in the
guest: one says what the code did, the other what it left on the stacks."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from qemus import NIGHTLY, QEMU_10, another_qemu
from support import need_program, run_guests

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.collector import Options
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = [pytest.mark.guest, pytest.mark.network]

# Processes that take turns, die and are born, signals, page faults, and a timer.
_BUSY = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"
static volatile sig_atomic_t signals;
static void on_signal(int number) { signals += number > 0; }
static int talk(int rounds)
{
    int there[2], back[2], failed = pipe(there) || pipe(back);
    pid_t child = fork();
    char c = 1;
    for (int i = 0; i < rounds; i++) {
        if (!child)
            failed |= read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1;
        else
            failed |= write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1;
    }
    if (!child)
        _exit(failed);
    waitpid(child, 0, 0);
    for (int i = 0; i < 2; i++)
        close(there[i]), close(back[i]);
    return failed;
}
int main(void)
{
    struct itimerval often = {{0, 2000}, {0, 2000}};
    signal(SIGUSR1, on_signal);
    signal(SIGALRM, on_signal);
    PROFDIFF_START();
    int failed = setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < 5; i++)
        failed |= talk(40);
    for (int i = 0; i < 50; i++)
        failed |= raise(SIGUSR1);
    for (int i = 0; i < 5; i++) {
        char *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, i, 1 << 20);
        munmap(memory, 1 << 20);
    }
    usleep(20000);
    PROFDIFF_STOP();
    return failed || signals < 50;
}
"""

Chain = tuple[int, ...]


@pytest.fixture
def frame_chains(tmp_path: Path) -> Path:
    """The other plugin."""
    plugin = tmp_path / "frame-chains.so"
    source = Path(__file__).with_name("frame-chains.c")
    command = [need_program("cc", "gcc"), "-O2", "-shared", "-fPIC", "-o", plugin, source]
    subprocess.run(command, check=True)
    return plugin


class Text:
    """What the kernel's symbols say of its text."""

    def __init__(self, vmlinux: Path) -> None:
        with vmlinux.open("rb") as file:
            symbols = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
            table = {symbol.name: symbol["st_value"] for symbol in symbols}
        self.vectors = table["vectors"]
        self._entry = range(table["__entry_text_start"], table["__entry_text_end"])

    def of_one_entry(self, calls: Chain) -> Chain:
        """The sites of calls, innermost first, up to the one in the code that exceptions lead to,
        or the last one of a task."""
        for number, site in enumerate(calls):
            if site in self._entry:
                return calls[: number + 1]
        return calls


def seen(chains: Path, text: Text) -> Counter[Chain]:
    """How often the other plugin saw a function called by these calls: its address, and theirs,
    innermost first."""
    words = np.fromfile(chains, "<u8")
    found: Counter[Chain] = Counter()
    at = 0
    while at < len(words):
        function, *behind = words[at + 1 : at + 1 + int(words[at])].tolist()
        at += 1 + int(words[at])
        known = behind[: behind.index(0)] if 0 in behind else behind
        found[(function, *text.of_one_entry(tuple(one - 4 for one in known)))] += 1
    return found


def is_call(code: bytes) -> bool:
    """Whether it is BL or BLR, authenticated or not."""
    word = int.from_bytes(code, "little")
    return word >> 26 == 0x25 or word & 0xFEFFF000 == 0xD63F0000


def recorded(counts: Counts, text: Text) -> Counter[Chain]:
    """The same of a call tree."""
    tree = counts.calls
    assert tree
    called = np.array([is_call(bytes(code[1:5])) for code in counts.executed])
    in_kernel = counts.in_kernel
    paths: list[Chain] = [()]
    found: Counter[Chain] = Counter()
    for node in range(1, len(tree.parent)):
        site, target = tree.site[node], tree.target[node]
        if site < 0 or not called[site] or not in_kernel[site]:
            paths.append(())
            continue
        paths.append((int(counts.address[site]), *paths[tree.parent[node]]))
        if tree.calls[node] and target >= 0:
            function = int(counts.address[target])
            found[(function, *text.of_one_entry(paths[node]))] += int(tree.calls[node])
    return found


@NIGHTLY
def test_every_call_in_the_kernel_has_the_callers_on_its_stack(
    arm64_kernel: KernelFiles,
    frame_chains: Path,
    tmp_path: Path,
    compile_c: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for calls that an interrupt kept from what they call, of which the other plugin leaves
    out the first block."""
    qemu = another_qemu(QEMU_10, ARM64)
    if arm64_kernel.debug_elf is None:
        pytest.skip(f"{arm64_kernel.spec} has no debug symbols")
    text = Text(arm64_kernel.debug_elf)
    own_arguments = Exact.qemu_arguments

    def arguments(
        self: Exact, qemu: Qemu, options: Options, folder: Path, repetition: int = 1
    ) -> list[str]:
        told = f"file={frame_chains},out={folder / 'chains'},vectors={text.vectors}"
        return [*own_arguments(self, qemu, options, folder), "-plugin", told]

    monkeypatch.setattr(Exact, "qemu_arguments", arguments)
    program = compile_c("busy", _BUSY, "-static", compiler=ARM64.compiler)
    # Booted: of a task that slept when a machine was saved, the tree does not know who had called.
    command, folder = [str(program)], tmp_path / "run"
    (run,) = run_guests(qemu, arm64_kernel.image, command, folder, count=1, restored=False)
    assert run.failure is None
    assert run.counts
    assert run.counts.calls
    assert run.counts.calls.unequal(run.counts.count) == 0
    there, here = seen(tmp_path / "run/0/chains", text), recorded(run.counts, text)
    assert there.total() > 50_000
    assert len(there) > 3_000
    assert not there - here
    assert (here - there).total() <= 2
