"""A published program as it is: what it cannot do on a kernel, and what is counted of it."""

import re
from pathlib import Path

import pytest
from support import profdiff

from profdiff.session.session import Session

# As https://lkml.iu.edu/hypermail/linux/kernel/2206.1/04087.html describes its program.
WRITES = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int clear = open("/proc/self/clear_refs", O_WRONLY);
	for (int round = atoi(argv[1]); round; round--) {
		char *area = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(area, 1, 65536);
		mprotect(area, 65536, PROT_READ);
		mprotect(area, 65536, PROT_READ | PROT_WRITE);
		memset(area, 2, 65536);
		if (write(clear, "4", 1) < 0)
			return argc;
		memset(area, 3, 65536);
		munmap(area, 65536);
	}
	return 0;
}
"""


@pytest.mark.guest
def test_what_kernels_lack_and_what_is_counted_is_said(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    source = tmp_path / "writes.c"
    source.write_text(WRITES)
    folder = tmp_path / "writes.profdiff"
    kernels = ["--kernel", str(old_kernel), "--kernel", str(new_kernel)]
    command = ["--ops", "40", "-o", folder, "--", source, "{ops}"]
    recorded = profdiff("record", *kernels, "--op", "round of writes", *command).stdout
    lacks = "CONFIG_MEM_SOFT_DIRTY is off on v6.12.107 and v6.18.15"
    counted = "no marks: profdiff counts all that grows with the number of ops: mprotect 8"
    mail = profdiff("mail", folder, "-o", "-").stdout
    for told in (recorded, profdiff("report", folder).stdout, mail):
        flat = " ".join(told.split())
        assert lacks in flat
        assert counted in flat
        assert "munmap 4" in flat and "write 4" in flat
    assert "(20 ops, each one round of writes; ops 40 minus ops 20)" in " ".join(mail.split())
    assert re.search(r"instructions per op \(one round of writes\)", " ".join(mail.split()))
    # What an op is called may be said later, and stays.
    for op in ([], ["--op", "call"]):
        again = profdiff("record", *kernels, *op, *command).stderr
        assert "all runs are already recorded" in again
        assert Session.open(folder).manifest.workload.op == (op or ["", "round of writes"])[1]
    report = profdiff("report", folder).stdout
    assert report.index(lacks) < report.index("instructions per op")


@pytest.mark.guest
def test_marks_and_one_system_call_need_no_caution(recorded: Path) -> None:
    told = profdiff("report", recorded).stdout
    assert "no marks" not in told
    assert "is off on" not in told


HUGE = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { SIZE = 2 << 20 };
int main(int argc, char **argv)
{
	char *area = mmap(0, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *huge = (char *)(((uintptr_t)area + SIZE - 1) & -(uintptr_t)SIZE);
	madvise(huge, SIZE, MADV_HUGEPAGE);
	for (int round = atoi(argv[1]); round; round--) {
		memset(huge, 1, SIZE);
		madvise(huge, SIZE, MADV_DONTNEED);
	}
	return argc == 1;
}
"""


@pytest.mark.guest
def test_huge_pages_that_a_guest_does_not_give_are_said_first(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    source = tmp_path / "huge.c"
    source.write_text(HUGE)
    kernels = ["--kernel", str(old_kernel), "--kernel", str(new_kernel)]
    lacks = "The workload asks for huge pages (1 time), but gets none on v6.12.107 and v6.18.15"

    def record(*options: str) -> tuple[str, Path]:
        folder = tmp_path / f"huge{len(options)}.profdiff"
        workload = ["--ops", "2", "-o", folder, "--", source, "{ops}"]
        return profdiff("record", *kernels, *options, *workload).stdout, folder

    said, folder = record("--memory", "400M")
    report, mail = profdiff("report", folder).stdout, profdiff("mail", folder, "-o", "-").stdout
    assert " ".join(report.split()).startswith(f"{lacks}: Linux turns them off in guests of 400")
    for told in (said, mail):
        assert lacks in " ".join(told.split())
    said, folder = record()
    report = profdiff("report", folder).stdout
    assert "huge pages" not in said + report.split("\n\n")[0]
    assert "2,048 KiB AnonHugePages" in report


@pytest.mark.guest
def test_guests_are_as_kernels_make_them(recorded: Path) -> None:
    """Memory that Linux has huge pages in, and no word about mitigations."""
    (command_line,) = {one.read_text().strip() for one in recorded.glob("runs/*/cmdline")}
    assert "mitigations" not in command_line
    report = " ".join(profdiff("report", recorded).stdout.split())
    assert "THP madvise; unmitigated: spectre_v1, spectre_v2" in report
    assert "1024 MiB" in report
