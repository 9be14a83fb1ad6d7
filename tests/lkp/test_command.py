"""``profdiff lkp``: what it prints and writes, and what it refuses."""

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
import pytest
from fuzz.commands import profdiff as inside
from goldens import check_schema
from lkp.robot_mails import MAILS, NAMES, read, report, values
from suite_cells import cells, files
from suite_cells import workloads as suite_workloads
from support import IMPORTED, ROOT, SHARED, error_line, need_kernel, need_program, profdiff

from profdiff.base import units
from profdiff.views import lkp
from profdiff.views.lkp_experiment import CELLS, Workload, workload

LOCK = MAILS / "59faa4da7c.eml"


def said(name: str, *arguments: str | Path) -> str:
    return inside("lkp", MAILS / f"{name}.eml", *arguments)


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/lkp.schema.json", lkp.schema(), "lkp")


def test_the_split_is_one_sentence() -> None:
    text = " ".join(said("59faa4da7c").split())
    assert (
        "+25.7% time = +2.9% instructions × +22.4% cycles per instruction × -0.2% time per cycle: "
        "instructions explain 13% of it."
    ) in text
    assert "Cycles per instruction explain 88% of it, and time per cycle -1%: waiting, idle" in text
    assert "Likeliest, from these rows: a contended lock or atomic." in text
    assert "29.36 ±  4%       +6.2         35.57 ±  2%" in said("59faa4da7c")


def test_the_documents_example_is_what_is_printed() -> None:
    text = (ROOT / "docs/lkp.md").read_text()
    example = text.partition("$ profdiff lkp 59faa4da7c.eml\n")[2].partition("...\n")[0]
    assert len(example) > 1_000
    assert said("59faa4da7c").startswith(example)


def test_another_op_and_doubt_are_said() -> None:
    text = " ".join(said("1b057bd800").split())
    assert "It is another op on each kernel: 543 times the time = +639.2% instructions" in text
    text = " ".join(said("8343cae362").split())
    assert (
        "how much of it instructions explain is not certain: it may be more or less than half "
        "(-11% to" in text
    )
    assert "instructions explain more than all of it" in " ".join(said("0ede61d858").split())
    assert "instructions explain none of it: they changed" in " ".join(said("875fa64577").split())
    assert "not known: the table has no row of instructions" in " ".join(said("db86f55bf8").split())


def test_a_reply_says_nothing_of_another_change() -> None:
    """Its subject has the first mail's word; its table is of a fix."""
    text = said("7ee9887703-fixed")
    assert "stress-ng.uprobe.ops_per_sec: 16,600 to 20,132 (+21.3%)\n" in text
    assert "the table names a kernel that only the robot has" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_mail_has_text_and_json(name: str, tmp_path: Path) -> None:
    text = said(name, "--width", "80")
    assert "Likeliest, from these rows: " in text
    assert not any("\x1b" in line for line in text.splitlines())
    file = tmp_path / "lkp.json"
    assert said(name, "--json", file) == ""
    document = json.loads(file.read_text())
    jsonschema.validate(document, json.loads((ROOT / "profdiff/lkp.schema.json").read_text()))
    assert document["schema"] == "profdiff.lkp/1"
    for test in document["tests"]:
        for one in test["kinds"]:
            known = {row["name"] for row in document["tests"][one["test"]]["metrics"]}
            assert known.issuperset(one["metrics"])
        if share := test["share"]:
            assert share["low"] <= share["instructions"] <= share["high"]


def test_text_is_as_wide_as_asked_but_for_what_is_copied() -> None:
    lines = said("59faa4da7c", "--width", "70").splitlines()
    prose = [line for line in lines if "perf-profile" not in line and "profdiff record" not in line]
    assert all(units.width(line) <= 70 for line in prose)
    ascii_ = said("59faa4da7c", "--ascii")
    assert ascii_.isascii()


def test_standard_input_and_mboxes(tmp_path: Path) -> None:
    """Of a thread, the first mail with a table is meant."""
    expected = said("59faa4da7c")
    environment = {**os.environ, "PYTHONPATH": str(IMPORTED)}
    result = subprocess.run(
        [sys.executable, "-m", "profdiff", "lkp", "-"],
        input=LOCK.read_bytes(),
        capture_output=True,
        env=environment,
        check=True,
    )
    assert result.stdout.decode() == expected
    cover = b"From x\nMessage-ID: <a@b>\nSubject: about it\n\nHello.\n\n"
    mbox = tmp_path / "t.mbox"
    other = (MAILS / "06c4d00466.eml").read_bytes()
    mbox.write_bytes(cover + b"From x\n" + LOCK.read_bytes() + b"\nFrom x\n" + other)
    assert profdiff("lkp", mbox).stdout == expected


def test_b4_fetches_a_mail_by_its_id(tmp_path: Path) -> None:
    """Of the thread, the mail that was named."""
    mbox = tmp_path / "t.mbox"
    other = (MAILS / "06c4d00466.eml").read_bytes()
    mbox.write_bytes(b"From x\n" + other + b"\nFrom x\n" + LOCK.read_bytes())
    program = tmp_path / "bin/b4"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do case $1 in -o) o=$2 ;; -n) n=$2 ;; esac; shift; done\n"
        f'cp {mbox} "$o/$n.mbx"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    wanted = "https://lore.kernel.org/all/202510040805.37ced754-lkp@intel.com/"
    assert profdiff("lkp", wanted, env=env).stdout == said("59faa4da7c")
    env = {"PATH": str(tmp_path)}
    line = error_line(profdiff("lkp", wanted, env=env, status=2))
    assert "b4 is not installed" in line


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("0ede61d858", {"collector": ["exact"], "command": ["./poll2.c", "threads"]}),
        (
            "59faa4da7c",
            {
                "collector": ["exact", "sharing", "contention"],
                "cpus": 2,
                "copies": 2,
                "command": ["./brk1.c"],
            },
        ),
        ("a97fbc3ee3", {"collector": ["exact", "sharing"], "command": ["./signal1.c"]}),
        (
            "f95bdb700b",
            {
                "collector": ["exact"],
                "copies": 2,
                "command": ["stress-ng", "--ramfs", "1", "--ramfs-ops", "{ops}"],
            },
        ),
    ],
)
def test_the_recording_fits_the_kind(name: str, options: dict[str, object]) -> None:
    made = tomllib.loads(said(name, "--repo", "~/my linux", "--experiment", "-"))
    assert options.items() <= made.items()
    parent, commit = made["kernel"]
    assert parent.startswith("parent=git:~/my linux@")
    assert commit.startswith(f"commit=git:~/my linux@{name}")


def workloads(argv: bool) -> list[Workload]:
    """Of all mails, that run a program, or stand for one of the suite's cells."""
    mails = [*MAILS.glob("*.eml"), *(SHARED / "robot-mails").glob("*.eml")]
    found = [workload(case) for path in sorted(mails) for case in read(path).cases]
    return list({str(one): one for one in found if one and bool(one.argv) == argv}.values())


@pytest.mark.slow
def test_every_program_that_is_proposed_runs_and_ends(tmp_path: Path) -> None:
    """Here, as a guest would; a test of will-it-scale is a file that the user fetches."""
    programs = [one for one in workloads(argv=True) if not one.argv[0].startswith("./")]
    assert len(programs) >= 5
    for one in programs:
        need_program(one.argv[0], one.argv[0])
        command = [word.replace("{ops}", str(one.ops)) for word in one.argv]
        # Some stressors wait here for what a machine lacks.
        command += ["--timeout", "5"] if command[0] == "stress-ng" else []
        if command[0] == "fio":
            command = [re.sub(r"(?<==)/tmp/.*", str(tmp_path / "robot"), word) for word in command]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        # stress-ng's 3 and 4: this kernel lacks what the stressor needs, such as uprobes.
        fine = (0, 3, 4) if command[0] == "stress-ng" else (0,)
        assert done.returncode in fine, (command, done.stdout, done.stderr)


@pytest.mark.kernel
def test_every_cell_that_is_proposed_is_one_of_the_suite() -> None:
    """Each names cells of one workload, as the files of the suite have them and a plan finds
    them."""
    kernels = [need_kernel(one) for one in ("v6.12.107", "v6.18.15")]
    proposed = {one for _, _, one in CELLS}
    assert {one.cell for one in workloads(argv=False)} <= proposed
    known = {
        f"{one['name']}/{values}".rstrip("/"): one["name"]
        for file in files()
        for one in suite_workloads(file)
        for values, _ in cells(one)
    }
    found = {
        pattern: {own for name, own in known.items() if fnmatchcase(name, pattern)}
        for pattern in proposed
    }
    assert [pattern for pattern, names in found.items() if len(names) != 1] == []
    words = [word for pattern in proposed for word in ("--only", pattern)]
    both = ["--kernel", f"a={kernels[0]}", "--kernel", f"b={kernels[1]}"]
    plan = profdiff("plan", "--suite", "syscalls", *words, *both).stdout
    planned = re.findall(r"^(\S+) +(\d+) cells ", plan, re.MULTILINE)
    assert {name for name, _ in planned} == set.union(*found.values())
    chosen = [name for name in known if any(fnmatchcase(name, one) for one in proposed)]
    assert sum(int(number) for _, number in planned) == len(chosen)


def test_what_a_recording_has_not_is_said() -> None:
    text = " ".join(said("f95bdb700b").split())
    assert "the robot's test had disk=1HDD, fs=ext4, which this recording has not" in text
    assert "the guest's files lie in memory, so what that file system or disk does" in text


def test_what_the_mail_says_of_a_cause_is_quoted(tmp_path: Path) -> None:
    mail = tmp_path / "robot.eml"
    cause = "It is caused by false sharing of two fields."
    mail.write_text(LOCK.read_text().replace("\n\n", f"\n\n{cause}\n\n", 1))
    text = " ".join(inside("lkp", mail).split())
    assert f'The mail itself says, which is not used here: "{cause}"' in text
    assert "Likeliest, from these rows: a contended lock or atomic." in text


def test_candidates_come_with_the_recording_that_decides() -> None:
    text = " ".join(said("51d74c18a9").split())
    assert "Likeliest, from these rows: not known. What follows may be it" in text
    assert "A candidate: a contended lock or atomic." in text
    assert "--collector exact,sharing,contention" in text


def test_ops_follow_from_the_mails_own_numbers() -> None:
    """What an op executes on the robot's machine, into half a billion instructions."""
    executed, _ = values("f95bdb700b", "perf-stat.total.instructions")
    ops, _ = values("f95bdb700b", "stress-ng.ramfs.ops")
    made = workload(report("f95bdb700b").cases[0])
    assert made is not None
    assert 0.4e9 < made.ops * executed / ops <= 0.5e9


@pytest.mark.kernel
def test_the_command_is_the_experiment_file(tmp_path: Path) -> None:
    """Both are the same options; plan takes the file, here with kernels that exist."""
    kernels = [need_kernel(one) for one in ("v6.12.107", "v6.18.15")]
    # As a test of will-it-scale is: its loop never ends.
    (tmp_path / "poll2.c").write_text(
        "#include <poll.h>\nvoid testcase(unsigned long long *n, unsigned long nr)\n"
        "{ (void)nr; while (1) { poll(0, 0, 0); (*n)++; } }\n"
    )
    file = tmp_path / "experiment.toml"
    said("0ede61d858", "--experiment", file)
    asked = ["--kernel", f"parent={kernels[0]}", "--kernel", f"commit={kernels[1]}"]
    by_file = profdiff("plan", "--experiment", file, *asked, cwd=tmp_path).stdout
    assert "poll2.profdiff: 2 kernels, 1 point, exact; 0 runs done, 0 failed, 2 to do" in by_file
    (line,) = (one for one in said("0ede61d858").splitlines() if "profdiff record" in one)
    words = line.split()
    at = words.index("--collector")
    by_command = profdiff("plan", *asked, *words[at:], cwd=tmp_path).stdout
    assert by_command.splitlines()[:3] == by_file.splitlines()[:3]


def test_a_cell_of_the_suite_stands_for_a_test() -> None:
    text = said("db86f55bf8")
    assert (
        "profdiff record --suite syscalls --only pingpong/pipe --kernel parent=git:linux@v6.18-rc3"
        in text
    )
    line = error_line(profdiff("lkp", MAILS / "db86f55bf8.eml", "--experiment", "-", status=2))
    assert "a cell of the suite syscalls stands for this test" in line


def test_a_test_that_nothing_fits_is_said() -> None:
    text = said("1e8017bb42")
    assert "- profdiff has no workload for netperf SCTP_RR" in text
    assert "profdiff record" not in text
    line = error_line(profdiff("lkp", MAILS / "1e8017bb42.eml", "--experiment", "-", status=2))
    assert line == "--experiment: profdiff has no workload for netperf SCTP_RR"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no table of the 0-day robot's"),
        (b"Subject: x\n\nHello.\n", "no table of the 0-day robot's"),
        (b"From x\nMessage-ID: <a@b>\n\nHello.\n", "no table of the 0-day robot's"),
        (b"From x\n\nHello.\n", "is not an mbox"),
        (b"X: " + b"a" * 300_000, "its headers have more than 256 KiB"),
        (b"Subject: x\n\n" + b"1 +1.0% 2\n" * 200_000, "more than 1 MiB"),
        (b"\x1f\x8b\x08garbage", "is damaged"),
    ],
    ids=["empty", "other", "thread", "no-mbox", "headers", "large", "packed"],
)
def test_what_is_no_report_is_one_line(data: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "mail"
    file.write_bytes(data)
    line = error_line(profdiff("lkp", file, status=2))
    assert problem in line
    assert str(file) in line


def test_a_file_that_is_not_there() -> None:
    assert "No such file" in error_line(profdiff("lkp", "nothing.eml", status=2))


def test_only_one_file_goes_to_standard_output() -> None:
    both = ["--json", "-", "--experiment", "-"]
    assert "only one file" in error_line(profdiff("lkp", LOCK, *both, status=2))
