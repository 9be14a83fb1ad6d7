"""What make's log says: steps, the first error, a full disk."""

import sys
from pathlib import Path

import pytest

from profdiff.collectors.kernels.building import make
from profdiff.collectors.kernels.building.make import (
    clean_environment,
    first_error,
    is_damaged,
    is_full,
    lacking,
    steps,
    supervised,
)

STEPS = """\
make[1]: Entering directory '/cache/profdiff-1/.profdiff-1'
  GEN     Makefile
  CC      mm/mprotect.o
  CC [M]  fs/fat/cache.o
  LD [M]  fs/fat/fat.ko
  HOSTCC  scripts/basic/fixdep
  CALL    ../scripts/checksyscalls.sh
Kernel: arch/x86/boot/bzImage is ready  (#1)
"""
# Lines as gcc, clang, ld, ld.lld, objtool, Kconfig and make of Linux 6.12 print them.
SAMPLES = [
    (
        "  CC      mm/mprotect.o\n../mm/mprotect.c: In function 'f':\n"
        "../mm/mprotect.c:7:2: error: 'x' undeclared (first use in this function)\n"
        "../mm/mprotect.c:9:2: error: 'y' undeclared (first use in this function)\n"
        "make[4]: *** [../scripts/Makefile.build:229: mm/mprotect.o] Error 1\n",
        "mm/mprotect.c:7:2: error: 'x' undeclared (first use in this function)",
    ),
    (
        "warning: something is odd\n../mm/a.c:1:10: fatal error: 'gone.h' file not found\n",
        "mm/a.c:1:10: fatal error: 'gone.h' file not found",
    ),
    (
        "  HOSTCC  tools/objtool/check.o\n"
        "/t/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file\n",
        "/t/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file "
        "(apt-get install libelf-dev)",
    ),
    (
        "  LD      .tmp_vmlinux1\nld: vmlinux.o: in function `f':\n"
        "(.text+0x1): undefined reference to `absent'\nmake[2]: *** [x: vmlinux] Error 1\n",
        "(.text+0x1): undefined reference to `absent'",
    ),
    (
        "ld.lld: error: undefined symbol: absent\n>>> referenced by mprotect.c\n",
        "ld.lld: error: undefined symbol: absent",
    ),
    ("/bin/sh: 1: flex: not found\n", "/bin/sh: 1: flex: not found (apt-get install flex)"),
    (
        "***\n*** C compiler is too old.\n***   Your GCC version:    4.9.0\n***\n"
        "scripts/Kconfig.include:44: Sorry, this C compiler is not supported.\n",
        "C compiler is too old.",
    ),
    ("make: *** No rule to make target 'bzImage'.  Stop.\n", "make: *** No rule to make target"),
    ("Makefile:7: *** missing separator.  Stop.\n", "Makefile:7: *** missing separator.  Stop."),
    ("Something else went wrong.\n\n", "Something else went wrong."),
    ("", "make gives no reason"),
    ("\x1b[31mevil.c:1:1: error: \x1b]0;title\x07\n", "\\u{1b}[31mevil.c:1:1: error: \\u{1b}]0"),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a log is."""
    return tmp_path / "log"


def test_steps(log: Path) -> None:
    log.write_text(STEPS)
    assert steps(log) == 6


@pytest.mark.parametrize(("text", "first"), SAMPLES)
def test_the_first_error(log: Path, text: str, first: str) -> None:
    log.write_text(text)
    said = first_error(log)
    assert said.startswith(first)
    assert said.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "x86_64-linux-gnu-gcc-12: fatal error: Killed signal terminated program cc1\n",
        "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
        "clang: error: unable to execute command: Killed\n",
        "make[2]: *** [../scripts/Makefile.vmlinux:34: vmlinux] Killed\n",
        "Killed\n",
        "/bin/bash: line 1: 4242 Killed                  ld -o vmlinux\n",
        "../scripts/link-vmlinux.sh: line 49: 4242 Killed   ${ld} ${ldflags}\n",
        "cc1: out of memory allocating 65536 bytes after a total of 1 bytes\n",
        "virtual memory exhausted: Cannot allocate memory\n",
        "LLVM ERROR: out of memory\n",
        "ld: final link failed: memory exhausted\n",
        "/bin/sh: 1: flex: not found\n",
        "/bin/sh: line 1: bc: command not found\n",
        "a.h:10:10: fatal error: gelf.h: No such file or directory\n",
        "certs/extract-cert.c:21:10: fatal error: 'openssl/bio.h' file not found\n",
        "/usr/bin/ld: cannot find -lelf: No such file or directory\n",
    ],
)
def test_what_this_machine_lacks(log: Path, text: str) -> None:
    log.write_text(f"  CC      mm/a.o\n{text}make: *** [Makefile:1: all] Error 2\n")
    assert lacking(log)
    assert lacking(log).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "mm/oom_kill.c:1:1: error: 'Killed' undeclared\n",
        "mm/a.c:1:10: fatal error: gone.h: No such file or directory\n",
        "drivers/abc: error: -lelf\n",
        "a.c:7:2: error: #error flex: is old\n",
        "mm/a.c:1:1: warning: out of memory\n",
        "",
    ],
)
def test_what_is_the_source_s_fault(log: Path, text: str) -> None:
    log.write_text(f"  CC      mm/a.o\n{text}make: *** [Makefile:1: all] Error 2\n")
    assert lacking(log) == ""


@pytest.mark.parametrize(
    ("text", "damaged"),
    [
        ("ld: mm/mmap.o: file not recognized: file format not recognized\n", True),
        ("/usr/bin/ld: error: mm/built-in.a: file too short\n", True),
        ("ld.lld: error: mm/mmap.o: section header table goes past the end of the file\n", True),
        ("objcopy: mm/mmap.o: file truncated\n", True),
        ("/bin/sh: 1: scripts/kconfig/conf: Exec format error\n", True),
        ("mm/.mmap.o.cmd:3: *** missing separator.  Stop.\n", True),
        ("include/config/auto.conf:1: *** missing separator.  Stop.\n", True),
        ("mm/mmap.c:1:1: error: malformed\n", False),
        ("../fs/a.c:3:2: error: #error the file a.o is corrupt\n", False),
        ("kernel/a.S:3: Error: unexpected end of line\n", False),
        ("Makefile:3: *** missing separator.  Stop.\n", False),
        ("scripts/Kconfig.include:1: malformed\n", False),
    ],
)
def test_what_an_earlier_build_left(log: Path, text: str, damaged: bool) -> None:
    log.write_text(text)
    assert is_damaged(log) is damaged


def test_a_long_line_is_cut(log: Path) -> None:
    log.write_text(f"a.c:1:1: error: {'x' * 10_000}\n")
    assert len(first_error(log)) == 300


def test_a_full_disk(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_text("fatal error: error writing to /tmp/x.s: No space left on device\n")
    assert is_full(log)
    log.write_text("a.c:1:1: error: no\n")
    assert not is_full(log)
    monkeypatch.setattr(make, "_MIN_FREE", 1 << 62)
    assert is_full(log)


def test_steps_are_told_while_they_are_made(log: Path) -> None:
    script = "import time\nfor i in range(4):\n print(f'  CC      f{i}.o', flush=True)\n"
    script += " time.sleep(0.3)\n"
    told: list[tuple[int, str]] = []
    with log.with_name("lock").open("w") as lock:
        status = supervised(
            [sys.executable, "-c", script],
            log.parent,
            clean_environment(),
            log,
            lock=lock.fileno(),
            seen=lambda count, file: told.append((count, file)),
        )
    assert status == 0
    assert sum(count for count, _ in told) == 4
    assert len(told) > 1
    assert told[-1][1] == "f3.o"


def test_a_status_is_make_s(log: Path) -> None:
    with log.with_name("lock").open("w") as lock:
        command = [sys.executable, "-c", "import sys; print('said'); sys.exit(7)"]
        status = supervised(command, log.parent, {}, log, lock=lock.fileno())
    assert status == 7
    assert log.read_text() == "said\n"


def test_what_changes_a_build_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCH", "KCFLAGS", "MAKEFLAGS", "LLVM", "CROSS_COMPILE", "KBUILD_OUTPUT", "V"):
        monkeypatch.setenv(name, "other")
    for name in ("PATH", "CCACHE_DIR", "VERY_OWN"):
        monkeypatch.setenv(name, "kept")
    made = clean_environment()
    assert {name for name, value in made.items() if value == "kept"} == {
        "PATH",
        "CCACHE_DIR",
        "VERY_OWN",
    }
    assert "other" not in made.values()
