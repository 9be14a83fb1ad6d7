"""A guest that goes on making new code: it is counted exactly, in bounded memory."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import run_guests

from profdiff.collectors.guest import plugin
from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest

# Makes new code again and again, as a JIT compiler does: argv[1] functions of four additions, each
# with constants of its own, in the same pages.
_JIT = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "profdiff.h"

#define ADDITIONS 4
#define SIZE 32
#define ALL (16 * 4096)
int main(int argc, char **argv)
{
    unsigned long count = strtoul(argv[1], 0, 10), sum = 0;
    uint8_t *code = mmap(0, ALL, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
    uint32_t fresh = 0;
    PROFDIFF_START();
    for (unsigned long i = 0; i < count; i++) {
        uint8_t *start = code + i * SIZE % ALL, *at = start;
        *at++ = 0x31, *at++ = 0xc0; /* xor %eax,%eax */
        for (int n = 0; n < ADDITIONS; n++, at += 4) {
            *at++ = 0x05; /* add $fresh,%eax */
            fresh++;
            memcpy(at, &fresh, 4);
        }
        *at++ = 0xc3;
        sum += ((unsigned (*)(void))start)();
    }
    PROFDIFF_STOP();
    printf("%lu\\n", sum);
    return 0;
}
"""


@pytest.fixture
def jit(compile_c: Callable[..., Path]) -> Path:
    """The program above."""
    return compile_c("jit", _JIT, "-static", "-no-pie")


@pytest.mark.parametrize("calls", [True, False])
def test_code_that_is_made_anew_is_counted_exactly(
    qemu: Qemu, new_kernel: Path, jit: Path, tmp_path: Path, calls: bool
) -> None:
    functions = 5000
    command = [str(jit), str(functions)]
    image = new_kernel / "bzImage"
    (result,) = run_guests(qemu, image, command, tmp_path, count=1, calls=calls)
    assert result.failure is None
    additions = 4 * functions
    assert int((tmp_path / "0/stdout").read_text()) == additions * (additions + 1) // 2
    counts = result.counts
    assert counts
    # Length, operation, and the constant's bytes: of the program above, which alone has so many.
    made = (~counts.in_kernel) & (counts.code[:, 0] == 5) & (counts.code[:, 1] == 0x05)
    ones = counts.count[made] == 1
    assert additions <= ones.sum() < additions + 50
    assert (counts.calls is not None) is calls
    assert not counts.calls or counts.calls.unequal(counts.count) == 0


def test_code_without_end_is_a_failed_run(
    qemu: Qemu, new_kernel: Path, jit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here without so much memory, for what takes a minute else."""
    monkeypatch.setattr(plugin, "MEMORY", 64)
    command = [str(jit), "100000000"]
    image = new_kernel / "bzImage"
    (result,) = run_guests(qemu, image, command, tmp_path, count=1)
    assert result.counts is None
    assert result.failure
    assert result.failure.kind == "qemu"
    assert "more than 64 MiB" in result.failure.message
    assert "--no-call-tree" in result.failure.message
    assert "\n" not in result.failure.message
