"""Code that is mapped at several addresses, on each QEMU: every execution counts where it
happens."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from qemus import QEMU_10, QEMU_11, another_qemu
from support import run_guests

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu

pytestmark = [pytest.mark.guest, pytest.mark.network]

# A page of a file at two addresses. work(n) executes 5 instructions once and 3 n times (label 1),
# and fills n bytes; fault(p) loads from p, which is not mapped, behind an instruction that counts.
SOURCE = r"""
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"
extern char begin[], end[], fault[];
__asm__(".balign 64\nbegin:\n"
        "xor %eax,%eax\n"              /* 0 */
        "1: inc %eax\ncmp %edi,%eax\njne 1b\n" /* 2, 4, 6 */
        "mov %edi,%ecx\n"              /* 8 */
        "mov %rsi,%rdi\n"              /* 10 */
        "rep stosb\n"                  /* 13 */
        "ret\n"                        /* 15 */
        "fault: nop\nmov (%rdi),%eax\nnop\nret\n" /* 16, 17, 19, 20 */
        "end:\n");
static sigjmp_buf back;
static void handler(int number) { siglongjmp(back, 1); }
static void (*mapped(int fd, char *at))(int, char *)
{
    return mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) == at
        ? (void (*)(int, char *))(at + 0x140) : 0;
}
int main(void)
{
    static char page[4096], into[64];
    int fd = open("/tmp/code", O_RDWR | O_CREAT | O_TRUNC, 0700);
    memcpy(page + 0x140, begin, end - begin);
    if (write(fd, page, sizeof page) != sizeof page)
        return 1;
    void (*one)(int, char *) = mapped(fd, (char *)0x10000000);
    signal(SIGSEGV, handler);
    PROFDIFF_START();
    for (int i = 0; i < 1000; i++)
        one(2, into);
    void (*two)(int, char *) = mapped(fd, (char *)0x20000000);
    for (int i = 0; i < 1000; i++) {
        one(2, into);
        if (i & 1)
            two(3, into);
    }
    for (int i = 0; i < 30; i++)
        if (!sigsetjmp(back, 1))
            ((void (*)(char *))((char *)(i % 3 ? one : two) + (fault - begin)))((char *)8);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) {
            munmap((void *)0x10000000, 4096);
            void (*three)(int, char *) = mapped(fd, (char *)0x30000000);
            three(4 + i, into);
            _exit(0);
        }
        waitpid(child, 0, 0);
    }
    PROFDIFF_STOP();
    return 0;
}
"""
STARTS = (0, 2, 4, 6, 8, 10, 13, 15, 16, 17)


def expected(calls: int, rounds: int, *, faults: int, copied: int = 0) -> list[int]:
    """The counts at STARTS. ``copied``: how often the store found a page that fork() shares: it
    faults and starts again."""
    filled = calls + copied
    return [calls, rounds, rounds, rounds, calls, calls, filled, calls, faults, faults]


@pytest.fixture(scope="module", params=["installed", QEMU_10, QEMU_11])
def each_qemu(request: pytest.FixtureRequest, qemu: Qemu) -> Qemu:
    return qemu if request.param == "installed" else another_qemu(request.param, X86_64)


@pytest.mark.parametrize(("cpus", "calls"), [(1, False), (2, True)])
def test_each_mapping_has_its_own_counts(
    each_qemu: Qemu,
    new_kernel: Path,
    tmp_path: Path,
    compile_c: Callable[..., Path],
    cpus: int,
    calls: bool,
) -> None:
    program = compile_c("mapped", SOURCE, "-static")
    image, guests = new_kernel / "bzImage", tmp_path / "guests"
    command = [str(program)]
    (run,) = run_guests(each_qemu, image, command, guests, count=1, cpus=cpus, calls=calls)
    assert run.failure is None
    counts = run.counts
    assert counts
    found = {at: count for at, count in zip(counts.address, counts.count, strict=True) if count}
    for base, numbers in (
        (0x10000140, expected(2000, 4000, faults=20)),
        (0x20000140, expected(500, 1500, faults=10)),
        (0x30000140, expected(5, 4 + 5 + 6 + 7 + 8, faults=0, copied=5)),
    ):
        assert [found.get(base + offset, 0) for offset in STARTS] == numbers
        assert base + 19 not in found
    if counts.calls:
        assert counts.calls.unequal(counts.count) == 0
        assert callers(counts, 0x20000140) == 500
    assert counts.each_iteration is not None
    starts = dict(zip(counts.address, counts.each_iteration, strict=True))
    assert starts[0x2000014D] == 500 * 4


@pytest.mark.parametrize(
    ("version", "elsewhere"),
    [
        ("7.1.0", False),
        ("7.2.0 (Debian 1:7.2+dfsg-1)", True),
        ("7.2.8", True),
        ("7.2.9", False),
        ("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", False),
        ("8.2.2 (Debian 1:8.2.2+ds-0ubuntu1)", True),
    ],
)
def test_a_qemu_that_cannot_tell_is_refused(
    qemu: Qemu, monkeypatch: pytest.MonkeyPatch, version: str, elsewhere: bool
) -> None:
    """Of plugin API 1."""
    told = replace(qemu, plugin_api=1, version=f"QEMU emulator version {version}")
    monkeypatch.setattr("profdiff.collectors.guest.plugin.find_qemu", lambda *_: told)
    if not elsewhere:
        assert Exact().emulator(X86_64, None) is told
        return
    with pytest.raises(MissingError, match=r"counts code that .*: use QEMU 9 or later, or 7\.2\.9"):
        Exact().emulator(X86_64, None)


def callers(counts: Counts, address: int) -> int:
    """How often the function at an address was entered by calls."""
    assert counts.calls
    target, sites = counts.calls.target, counts.calls.site
    here = (target >= 0) & (sites >= 0)
    here[here] = counts.address[target[here]] == address
    return int(counts.calls.calls[here].sum())
