"""A task that enters the kernel before its first instruction in user space, as a fork's child does
since none of its code is mapped, is the workload's own: getrusage() counts its page faults."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from restored import Restorer
from support import need_debian

from profdiff.collectors.architecture import ARM64, RISCV64
from profdiff.collectors.exact.context import Entries, own_context
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = pytest.mark.guest

_PROGRAM = (Path(__file__).parent / "first_faults.c").read_text()
# The kernel looks for a module that registers the family: call_usermodehelper_exec_async().
_HELPER = """
#include <sys/socket.h>
#include "profdiff.h"
int main(void)
{
	PROFDIFF_START();
	int found = socket(AF_X25, SOCK_SEQPACKET, 0);
	PROFDIFF_STOP();
	return found >= 0;
}
"""


def _run(restorer: Restorer, *command: str) -> tuple[str, Callable[[str], list[int]]]:
    """What it printed, and how often each function was entered: in all, and of its own."""
    result, folder = restorer.run(command)
    assert result.failure is None
    counts = Counts.load(folder / "counts.bin")
    found = own_context(counts, Entries.load(folder / result.files["entries"]))
    assert found
    lines = gzip.decompress((folder / result.files["kallsyms"]).read_bytes()).decode().splitlines()
    symbols = {words[2]: int(words[0], 16) for words in map(str.split, lines)}

    def entered(function: str) -> list[int]:
        entry = symbols[function]
        return [int(one.count[one.address == entry].sum()) for one in (counts, found[0])]

    return (folder / "stdout").read_text(), entered


def _check(restorer: Restorer, program: Path) -> None:
    printed, entered = _run(restorer, str(program), "5")
    # Two of the children, and the thread's and the handler's.
    assert int(printed) >= 5 * 4
    assert entered("handle_mm_fault") == [int(printed)] * 2


@pytest.mark.parametrize("cpus", [1, 2])
def test_its_faults_are_getrusages(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path, cpus: int
) -> None:
    program = compile_c("faults", _PROGRAM, "-static")
    _check(Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", cpus=cpus), program)


@pytest.mark.network
def test_on_arm64(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    program = compile_c("faults", _PROGRAM, "-static", compiler=ARM64.compiler)
    assert arm64_kernel.image
    _check(Restorer(arm64_qemu, arm64_kernel.image, tmp_path / "runs"), program)


@pytest.mark.network
def test_on_riscv64(
    riscv64_qemu: Qemu, riscv64_kernel: KernelFiles, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    program = compile_c("faults", _PROGRAM, "-static", compiler=RISCV64.compiler)
    assert riscv64_kernel.image
    _check(Restorer(riscv64_qemu, riscv64_kernel.image, tmp_path / "runs"), program)


@pytest.mark.network
def test_what_a_thread_of_the_kernel_starts_is_beside(
    qemu: Qemu, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    kernel = need_debian("debian:bookworm-backports")
    program = compile_c("helper", _HELPER, "-static")
    assert kernel.image
    _, entered = _run(Restorer(qemu, kernel.image, tmp_path / "runs"), str(program))
    assert entered("call_usermodehelper_exec_async") == [1, 0]
    assert entered("kernel_execve") == [1, 0]
