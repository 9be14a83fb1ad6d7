"""arm64's instructions that copy memory of any length (FEAT_MOPS), which QEMU has since 8.2: each
counts once, however long QEMU takes for it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from qemus import QEMU_10, another_qemu
from support import run_guests

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = [pytest.mark.guest, pytest.mark.network]

# CPYFP, CPYFM and CPYFE [x0]!, [x1]!, x2!
_COPY = (0x19010440, 0x19410440, 0x19810440)
_PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include "profdiff.h"
int main(void)
{
    size_t length = 4 << 20;
    char *from = malloc(length), *to = malloc(length);
    memset(from, 1, length);
    memset(to, 2, length);
    PROFDIFF_START();
    for (int i = 0; i < 300; i++) {
        register char *x0 __asm__("x0") = to, *x1 __asm__("x1") = from;
        register size_t x2 __asm__("x2") = length;
        __asm__ volatile(".inst 0x19010440\\n.inst 0x19410440\\n.inst 0x19810440"
                         : "+r"(x0), "+r"(x1), "+r"(x2) : : "memory", "cc");
    }
    PROFDIFF_STOP();
    return memcmp(from, to, length) != 0;
}
"""


def test_each_counts_once(
    arm64_kernel: KernelFiles, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    qemu = another_qemu(QEMU_10, ARM64)
    program = compile_c("copies", _PROGRAM, "-static", compiler=ARM64.compiler)
    assert arm64_kernel.image
    (run,) = run_guests(qemu, arm64_kernel.image, [str(program)], tmp_path / "run", count=1)
    assert run.failure is None
    assert run.counts
    counts = run.counts
    word = counts.executed[:, 1:5].copy().view("<u4")[:, 0]
    assert [counts.count[word == one].tolist() for one in _COPY] == [[300]] * 3
    assert counts.each_iteration is not None
    assert (counts.each_iteration == counts.count).all()
