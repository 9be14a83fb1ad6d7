"""A published program as it is: what it cannot do on a kernel, and what is counted of it."""

from pathlib import Path

import pytest
from support import profdiff

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
    recorded = profdiff(
        "record", *kernels, "--ops", "40", "-o", folder, "--", source, "{ops}"
    ).stdout
    lacks = "CONFIG_MEM_SOFT_DIRTY is off on v6.12.107 and v6.18.15"
    counted = "no marks: profdiff counts all that grows with the number of ops: mprotect 8"
    mail = profdiff("mail", folder, "-o", "-").stdout
    for told in (recorded, profdiff("report", folder).stdout, mail):
        flat = " ".join(told.split())
        assert lacks in flat
        assert counted in flat
        assert "munmap 4" in flat and "write 4" in flat
    report = profdiff("report", folder).stdout
    assert report.index(lacks) < report.index("instructions per op")


@pytest.mark.guest
def test_marks_and_one_system_call_need_no_caution(recorded: Path) -> None:
    told = profdiff("report", recorded).stdout
    assert "no marks" not in told
    assert "is off on" not in told
