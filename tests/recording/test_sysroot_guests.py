"""Programs of a root folder in arm64 guests: their loader finds what travelled, and counts are of
their functions."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support import RESTORED, need_debian, need_program, profdiff

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.guest.initramfs import foreign_perf
from profdiff.collectors.workload.root import Root
from profdiff.session.session import Session

# Two instructions in each step, behind some that tell a library from the other one.
LOOP = """
__attribute__((noinline)) void {name}(long n)
{{
	__asm__ volatile("mov x9, #{own}\\n add x10, x9, #{own}\\n sub x9, x9, #{own}\\n"
		"eor x10, x10, x9\\n sub x10, x10, #{own}\\n"
		"1: subs %0, %0, #1\\n b.ne 1b" : "+r"(n) : : "cc", "x9", "x10");
}}
"""
APP = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void in_conf(long), in_beside(long), in_own(long);
int main(int argc, char **argv)
{
	char line[512], *at;
	FILE *maps = fopen("/proc/self/maps", "r");
	for (int i = 0; i < argc; i++)
		printf("argument %s\\n", argv[i]);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "r-xp") && (at = strchr(line, '/')))
			printf("mapped %s", at);
	in_conf(300000);
	in_beside(200000);
	in_own(100000);
	return 0;
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Debian's C library for arm64, and a program with libraries of its own."""
    need_program("apt-get", "apt")
    compiler = need_program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    debians, root = Root(foreign_perf(ARM64)), tmp_path / "root"
    for place in ("/lib/ld-linux-aarch64.so.1", "/lib/aarch64-linux-gnu/libc.so.6"):
        source, target = debians.find(place), root / place[1:]
        assert source
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for place in ("opt/conf", "opt/app/lib", "opt/app/bin", "usr/bin", "etc"):
        (root / place).mkdir(parents=True)
    (root / "etc/ld.so.conf").write_text("include ld.so.conf.d/*.conf\n/opt/conf\n")

    def build(path: Path, source: str, *flags: str | Path) -> Path:
        file = tmp_path / f"{path.name}.c"
        file.write_text(source)
        subprocess.run([compiler, "-O2", "-g", "-o", path, file, *flags], check=True)
        return path

    shared = "-shared", "-fPIC"
    conf = build(root / "opt/conf/libconf.so", LOOP.format(name="in_conf", own=1000), *shared)
    beside = build(
        root / "opt/app/lib/libbeside.so", LOOP.format(name="in_beside", own=2000), *shared
    )
    flags = f"-L{conf.parent}", "-lconf", f"-L{beside.parent}", "-lbeside"
    flags += ("-Wl,-rpath,$ORIGIN/../lib",)
    build(root / "opt/app/bin/app", LOOP.format(name="in_own", own=3000) + APP, *flags)
    (root / "usr/bin/app").symlink_to("/opt/app/bin/app")
    return root


@pytest.mark.guest
@pytest.mark.network
def test_a_script_whose_interpreter_is_in_the_root_folder(root: Path, tmp_path: Path) -> None:
    need_program("qemu-system-aarch64", "qemu-system-arm")
    script = tmp_path / "work.sh"
    script.write_text("#!/usr/bin/app first\n")
    spec = "debian:bookworm/cloud-arm64"
    # A recording holds a processor: not while it downloads.
    need_debian(spec)
    kernel = f"a={spec}"
    session = tmp_path / "s"
    command = ["record", "--kernel", kernel, "--aa", "1", *RESTORED, "--sysroot", root]
    profdiff(*command, "--collector", "exact", "-o", session, "--", script, "last")
    recorded = Session.open(session)
    manifest = recorded.manifest
    for run in manifest.runs:
        assert run.failure is None
    output = (recorded.path(manifest.runs[0].files["stdout"])).read_text().splitlines()
    arguments = ["/usr/bin/app", "first", "/work/work.sh", "last"]
    assert output[:4] == [f"argument {one}" for one in arguments]
    assert {line.removeprefix("mapped ") for line in output[4:]} == {
        "/usr/bin/app",
        "/usr/lib/libbeside.so",
        "/opt/conf/libconf.so",
        "/lib/aarch64-linux-gnu/libc.so.6",
        "/lib/ld-linux-aarch64.so.1",
    }
    # The session stands for itself.
    shutil.rmtree(root)
    data = json.loads(profdiff("report", session, "--json", "-").stdout)
    found = {row["name"]: row for row in data["metrics"][0]["functions"]}
    for name, where, count in (
        ("in_conf", "libconf.so", 600_000),
        ("in_beside", "libbeside.so", 400_000),
        ("in_own", "app", 200_000),
    ):
        assert found[name]["object"] == where
        for self_count in found[name]["self"].values():
            assert count <= self_count <= count + 10
