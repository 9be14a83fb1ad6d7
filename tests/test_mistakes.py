"""What a hurried user types: one line that says what happened and what to type, exit status 2, and
nothing recorded or written. No guest runs."""

import shlex
import shutil
from pathlib import Path

import pytest
from support import error_line, need_kernel, need_profile, profdiff
from synthetic_joint import joint
from synthetic_session import exact_session
from synthetic_suite import large_suite

from profdiff.session.session import Session

# Words of the command line, and what the answer has in it.
WORDS = [
    # -- before the workload.
    ("plan --kernel a=k ./w.sh -n 5", "write -- before the workload"),
    ("record --kernel a=k --kernel b=k ./w.sh --repeat 5", "profdiff record OPTIONS -- ./w.sh"),
    ("plan ./w.sh --kernel a=k --kernel b=k", "--kernel comes after the workload ./w.sh"),
    ("plan --kernel a=k k2 -- ./w.sh", "k2 comes before --"),
    ("bisect --good a --bad b ./w.sh --cpus 2", "--cpus comes after the workload"),
    # Options that are given twice, or without a value.
    ("report s.profdiff --at a=1 --at a=2", "--at is given twice"),
    ("report s.profdiff --json x --json y", "--json is given twice"),
    ("record --ops 1 --ops 2 -- ./w.sh", "--ops is given twice"),
    ("report s.profdiff --json", "--json lacks its value: write --json FILE"),
    ("report s.profdiff --json --csv", "--json lacks its value: write --json FILE before --csv"),
    ("plan --aa -- ./w.sh", "--aa lacks its value: write --aa N"),
    ("plan --append -- ./w.sh", "--append lacks its value"),
    ("report s.profdiff --ratio=yes", "--ratio takes no value"),
    # A variable of the shell that is not set.
    ("report s.profdiff --json ''", "--json is empty: write --json FILE"),
    ("report ''", "SESSION is empty"),
    ("plan --kernel '' -- ./w.sh", "--kernel is empty"),
    ("mail s.profdiff --subject ''", "--subject is empty"),
    ("annotate s.profdiff ''", "FUNCTION is empty"),
    # Numbers.
    ("report s.profdiff --top abc", "--top abc: write a whole number of at least 0"),
    ("report s.profdiff --top -1", "--top -1: write a whole number of at least 0"),
    ("report s.profdiff --min-delta 5%", "write a whole number of at least 0: --min-delta 5"),
    ("plan --repeat 1.5 -- ./w.sh", "--repeat 1.5: write a whole number from 1 to 1,000,000"),
    ("plan --repeat 1,000 -- ./w.sh", "--repeat 1000"),
    ("plan --count 1M -- ./w.sh", "--count 1000000"),
    ("plan --timeout 10s -- ./w.sh", "write a number of seconds from 1 to 1,000,000: --timeout 10"),
    ("plan --timeout 5m -- ./w.sh", "--timeout 300"),
    ("plan --timeout nan -- ./w.sh", "--timeout nan: write a number of seconds"),
    ("plan --settle nan -- ./w.sh", "--settle nan: write a number of seconds"),
    ("plan --copies 0 -- ./w.sh", "--copies 0: write a whole number from 1 to 1,024"),
    ("diff x --ops 1k", "--ops 1k: write a whole number of at least 1: --ops 1000"),
    # Options that say nothing without another one.
    ("bisect --good a --bad b --threshold 5% -- ./w.sh", "--threshold is the smallest step that"),
    ("annotate s.profdiff f --by line --addresses", "--addresses shows instructions"),
    # Kernels.
    ("plan --kernel k --kernel k -- ./w.sh", "--kernel k is given twice: name another kernel"),
    ("plan --kernel folder,threads -- ./w.sh --x", "write --kernel folder --kernel threads"),
    ("plan --kernel image,elf --kernel b=image -- ./w.sh", "did you mean image,vmlinux=elf?"),
    ("plan --kernel image,vmlinux= --kernel b=image -- ./w.sh", "no file is named after vmlinux="),
    ("atlas s.profdiff s.profdiff", "s.profdiff is given twice"),
    ("report u.profdiff --cell nosuch", "the suite has no such cell: profdiff report SUITE lists"),
    # Too many words.
    ("report s.profdiff t.profdiff", "t.profdiff is one argument too many: profdiff report"),
    ("doctor k", "write --kernel k"),
    ("header x", "x is one argument too many: profdiff header"),
    ("impact s.profdiff x.strace", "takes no x.strace by itself: write --of x.strace"),
    ("impact s.profdiff x --of y", "x is one argument too many: profdiff impact"),
    ("kernel list k", "k is one argument too many: profdiff kernel list"),
    # Points.
    ("report s.profdiff --at xxxx", "--at xxxx: there is one point alone: leave --at out"),
    ("check s.profdiff --fail-if 'instructions > +1%' --at xxxx", "leave --at out"),
    ("annotate s.profdiff change_pte_range --at xxxx", "leave --at out"),
    ("mail s.profdiff --at xxxx", "leave --at out"),
    ("report p.profdiff --at folio_kib", "write NAME=VALUE,...: try folio_kib=4"),
    ("report p.profdiff --at 4", "write NAME=VALUE,...: try folio_kib=4"),
    ("report p.profdiff --at folio_kb=4", "there is no parameter folio_kb"),
    ("report p.profdiff --at folio_kib=4,x=", "there is no parameter x"),
    ("report p.profdiff/x86_64 --at folio_kib=5", "matches no point; try folio_kib=4"),
    # Something else than a session.
    ("report s.profdif", "there is no such folder: did you mean s.profdiff"),
    ("report elf", "elf is not a session, but an ELF file"),
    ("report perf.data", "profdiff diff perf.data shows it"),
    ("report w.sh", "w.sh is not a session, but a script"),
    ("report .", "name p.profdiff or s.profdiff or u.profdiff"),
    ("merge x.profdiff w.sh", "w.sh is not a session, but a script"),
    ("mail perf.data", "profdiff diff perf.data shows it"),
    # Something else than a recording of perf.
    (
        "diff s.profdiff s.profdiff",
        "s.profdiff is a session, not a file of perf's: profdiff report",
    ),
    ("diff a=u.profdiff b=u.profdiff", "u.profdiff is a suite, not a file of perf's"),
    ("import folder -o x.profdiff", "folder is a folder: name a file"),
    ("diff threads", "perf record --threads"),
    ("diff elf", "elf is an ELF file, not a recording"),
    ("diff image", "image is a kernel's image, not a recording"),
    ("diff perf.dat", "there is no such file: did you mean perf.data?"),
    ("diff perf.data --modules w.sh", "--modules w.sh: that is a file: name the folder"),
    ("diff perf.data --symfs w.sh", "--symfs w.sh: that is a file: name the folder"),
    ("diff perf.data --symfs nosuch", "--symfs nosuch: no such folder"),
    (
        "diff perf.data --vmlinux folder",
        "that is a folder: name the file: --vmlinux folder/vmlinux",
    ),
    ("diff perf.data --kallsyms folder", "--kallsyms folder: that is a folder: name the file"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What such a user has: recordings, and files of many kinds."""
    made = tmp_path_factory.mktemp("mistakes")
    exact_session(made / "s.profdiff")
    joint(made / "p.profdiff")
    large_suite(made / "u.profdiff", 2, 1, 2)
    script(made / "w.sh", "echo hi")
    for name in ("folder", "threads"):
        (made / name).mkdir()
    (made / "folder/vmlinux").write_bytes(b"\x7fELF")
    (made / "threads/data").write_bytes(b"PERFILE2")
    (made / "elf").write_bytes(b"\x7fELF" + bytes(60))
    (made / "image").write_bytes(bytes(0x202) + b"HdrS" + bytes(60))
    (made / "perf.data").write_bytes(b"PERFILE2" + bytes(200))
    return made


def script(path: Path, body: str, head: str = "#!/bin/sh\n") -> Path:
    """An executable script."""
    path.write_bytes(f"{head}{body}\n".encode())
    path.chmod(0o755)
    return path


def answer(words: str | list[str], folder: Path, env: dict[str, str] | None = None) -> str:
    """The one line that is said; nothing is written."""
    before = sorted(folder.rglob("*"))
    split = shlex.split(words) if isinstance(words, str) else words
    # Not support's own words, which a test of what is given twice cannot have.
    states = ["--vary-state", "0"] if split[0] in ("record", "plan") else []
    result = profdiff(split[0], *states, *split[1:], cwd=folder, env=env, status=2)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert sorted(folder.rglob("*")) == before
    return error_line(result)


@pytest.mark.parametrize(("words", "said"), WORDS, ids=[words for words, _ in WORDS])
def test_words(folder: Path, words: str, said: str) -> None:
    assert said in answer(words, folder)


def test_a_number_that_replaces_another_is_told(folder: Path) -> None:
    said = profdiff("report", "s.profdiff", "--top", "5", "--top", "1", cwd=folder)
    assert said.stderr == "note: --top is given twice: 1 counts\n"


def test_points_may_have_spaces_between(folder: Path) -> None:
    at = ["--at", "folio_kib=4, vCPUs=1"]
    assert "folio_kib 4" in profdiff("report", "p.profdiff/x86_64", *at, cwd=folder).stdout


# Options of plan, its COMMAND, and what the answer has in it.
PLANS = [
    ("--ops 0", "./w.sh {ops}", "--ops 0: an operation or more is counted: write at least 1"),
    ("--ops -5", "./w.sh {ops}", "--ops -5: an operation or more is counted"),
    ("--ops 1e6", "./w.sh {ops}", "'1e6' is not a whole number: write digits"),
    ("", "./w.sh {size}", "{size}, which has no value: add --sweep size=VALUE,..."),
    ("--ops 100", "./w.sh {Ops}", "{Ops}, which has no value: write {ops}"),
    ("--sweep size=1,2", "./w.sh {size} {sizes}", "write {size}"),
    ("", "./w.sh {copy}", "give --copies, at least 2"),
    ("--zip", "./w.sh", "--zip steps through several parameters"),
    (
        "--collector sharing",
        "./w.sh",
        "--collector sharing: one vCPU has no other to share with: add",
    ),
    ("--collector exact,contention", "./w.sh", "one vCPU has no other to share with: add --cpus 2"),
    ("--collector exact,sharing --ops 9", "./t.c threads", "add --cpus 2 --copies 2"),
    ("--collector exact,sharing --ops 9 --cpus 2", "./t.c threads", "add --copies 2"),
    ("--count 1000", "./w.sh", "--count: only perf runs use it: add --collector perf"),
    ("--call-graph dwarf", "./w.sh", "--call-graph: only perf runs use it"),
    ("--perf-args -a", "./w.sh", "--perf-args: only perf runs use it"),
    ("--boot-runs 3", "./w.sh", "--boot-runs: only timed runs use it"),
    ("--line-size 128", "./w.sh", "--line-size: only sharing runs use it"),
    ("--qemu nonsense", "./w.sh", "--qemu nonsense: that is not a file here, nor on PATH"),
    ("--qemu ./folder", "./w.sh", "--qemu ./folder: that is not a program that can be executed"),
    ("-o folder", "./w.sh", "-o folder: the folder is not empty and not a session"),
    ("-o w.sh", "./w.sh", "-o w.sh: a file of that name is in the way"),
    ("-o u.profdiff", "./w.sh", "it holds a suite: name another one"),
    ("-o s.profdiff", "./w.sh", "s.profdiff holds a recording with other kernels"),
    ("", "hackbench -l 10", "apt-get install rt-tests"),
    ("", "stress-ng --cpu 1", "apt-get install stress-ng"),
    ("", "nosuchprogram", "name its file, or install its package"),
    ("", "./w.hs", "did you mean w.sh?"),
    ("", "nosuch/w.sh", "there is no folder nosuch"),
    ("", "'./w.sh 5'", "it is one word: write ./w.sh 5 without quotes"),
    ("", "'./w.sh | cat'", "a shell reads this: write sh -c './w.sh | cat'"),
    ("", "cd /tmp", "write sh -c 'cd ...'"),
    ("", "A=1 ./w.sh", "write env A=1 and the program"),
    ("", "'~/w.sh'", "no shell has read this"),
    ("", "''", "the first word of COMMAND is empty"),
    ("", "./folder", "is not a file: name a program or a source file"),
    ("", "./crlf.sh", "lines that end as on Windows"),
    ("", "./lost.sh", "write another one in its line #!/no/such"),
    ("", "./ruby.rb", "apt-get install ruby"),
    ("", "./plain.sh", "of a shell's script, write sh plain.sh"),
]
TESTCASE = """\
void testcase(unsigned long long *iterations, unsigned long nr)
{
	(void)nr;
	while (1)
		(*iterations)++;
}
"""


@pytest.mark.kernel
@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "command", "said"), PLANS, ids=[f"{one} -- {two}" for one, two, _ in PLANS]
)
def test_plans(folder: Path, options: str, command: str, said: str) -> None:
    kernels = [need_kernel("v6.12.107"), need_kernel("v6.18.15")]
    script(folder / "crlf.sh", "echo hi\r", "#!/bin/sh\r\n")
    script(folder / "lost.sh", "echo", "#!/no/such\n")
    script(folder / "ruby.rb", "puts 1", "#!/usr/bin/env ruby\n")
    script(folder / "plain.sh", "echo hi", "")
    (folder / "t.c").write_text(TESTCASE)
    # So that what a machine has installed changes nothing.
    path = {"PATH": f"{folder / 'bin'}"}
    (folder / "bin").mkdir(exist_ok=True)
    for name in ("busybox", "cc", "gcc", "as", "ld", "nm", "qemu-system-x86_64", "sh", "zstd"):
        link = folder / "bin" / name
        if (found := shutil.which(name)) and not link.exists():
            link.symlink_to(found)
    named = [
        word for at, one in zip("ab", kernels, strict=True) for word in ("--kernel", f"{at}={one}")
    ]
    words = ["plan", *named, *shlex.split(options), "--", *shlex.split(command)]
    assert said in answer(words, folder, path)


@pytest.mark.kernel
@pytest.mark.slow
def test_an_image_alone_is_told_before_anything_runs(folder: Path) -> None:
    image = need_kernel("v6.12.107") / "bzImage"
    words = ["plan", "--kernel", f"a={image}", "--kernel", f"b={image}", "--", "./w.sh"]
    said = profdiff(*words, cwd=folder).stdout
    assert "a and b: no debug information" in said.replace("\n", " ")
    assert "--kernel a=IMAGE,vmlinux=ELF" in said.replace("\n", " ")


@pytest.mark.kernel
def test_kallsyms_that_are_none(folder: Path) -> None:
    profile = need_profile("v6.12.107")
    said = answer(["diff", str(profile), "--kallsyms", "w.sh"], folder)
    assert "that is a script, not a copy of /proc/kallsyms" in said


def test_sessions_of_the_table_are_whole(folder: Path) -> None:
    assert Session.open(folder / "s.profdiff").manifest.runs


@pytest.mark.parametrize(
    ("command", "said"),
    [("./w.sh {size}", "{size}, which has no value"), ("./w.hs", "did you mean w.sh?")],
)
def test_a_workload_is_looked_at_before_a_kernel_is(folder: Path, command: str, said: str) -> None:
    for kernels in ("plan --kernel a=nosuch --kernel b=nosuch", "bisect --good a --bad b"):
        assert said in answer(f"{kernels} -- {command}", folder)
