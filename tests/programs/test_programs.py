"""Programs as the sides of a comparison, recorded by the command line on one kernel: programs with
known counts, libraries that callgrind counts, environments, root folders, and what cannot be
compared."""

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import whole_run
from support import ROOT, error_line, need_program, profdiff

from profdiff.collectors.guest.qemu import Qemu
from profdiff.session.session import Session
from profdiff.session.state import run_facts

HERE = ROOT / "tests/programs"
LOOPS = {"a": 1000, "longer": 1500}
CALLS = {"a": 1, "longer": 3}


def compiled(folder: Path, source: str, name: str, *options: str) -> Path:
    program = folder / name
    program.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O1", "-g", "-o", program, HERE / source, *options]
    subprocess.run(command, check=True)
    return program


def record(
    folder: Path, kernel: Path, variants: Mapping[str, object], name: str, *words: object
) -> Path:
    given = [f"--variant={label}={value}" for label, value in variants.items()]
    session = folder / name
    profdiff("record", "--kernel", kernel, *given, "-o", session, *words, cwd=folder)
    return session


def topic(session: Path, folder: Path) -> dict[str, Any]:
    """The topic's tables, by name."""
    profdiff("report", session, "programs", "--json", folder / "t.json")
    (section,) = json.loads((folder / "t.json").read_text())["sections"]
    return {**section, "tables": {one["name"]: one for one in section["tables"]}}


def counts(table: Mapping[str, Any], figure: str, sums: bool = False) -> dict[str, list[Any]]:
    """By the first name of each row, what kernels have."""
    columns = table["columns"]
    at = [n for n, one in enumerate(columns) if one["name"] == figure and one["kernel"]]
    name = next(n for n, one in enumerate(columns) if one["kind"] == "name")
    rows = table["sums"] if sums else [*table["rows"], *table["hidden"]]
    return {row[name]: [row[n] for n in at] for row in rows}


@pytest.fixture(scope="session")
def known(new_kernel: Path, qemu: Qemu) -> Path:
    """Two static programs in folders of other lengths."""

    def make(folder: Path) -> None:
        own = {
            label: compiled(
                folder,
                "known.c",
                f"{label}/{label}/program-{label}",
                "-static",
                f"-DLOOPS={LOOPS[label]}",
                f"-DCALLS={CALLS[label]}",
            )
            for label in LOOPS
        }
        record(folder, new_kernel, own, "k.profdiff", "--ops", 200, "--", "{program}", "{ops}")

    return whole_run.once("programs", make) / "k.profdiff"


def test_known_counts(known: Path, tmp_path: Path) -> None:
    """Two instructions each time round, and one more to set it up; of 100 ops."""
    found = topic(known, tmp_path)
    functions = found["tables"]["programs-functions"]
    own = counts(functions, "self")
    assert own["spin"] == [100 * (2 * loops + 1) for loops in LOOPS.values()]
    kernel = counts(functions, "kernel")
    assert kernel["spin"] == kernel["work"] == [0, 0]
    assert kernel["ask"][0] > 0
    assert kernel["ask"][1] == pytest.approx(3 * kernel["ask"][0], rel=0.02)
    parts = found["tables"]["programs"]
    assert counts(parts, "times")["getppid()"] == [100 * calls for calls in CALLS.values()]
    by_call = counts(parts, "self")["getppid()"]
    assert by_call[1] == 3 * by_call[0]
    sums = counts(parts, "self", sums=True)
    assert [a + b for a, b in zip(sums["user space"], sums["kernel"], strict=True)] == sums["all"]
    profdiff("report", known, "--json", tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    (whole,) = (one for one in document["metrics"] if one["metric"] == "instructions")
    assert list(whole["totals"].values()) == sums["all"]
    rows = counts(parts, "self").values()
    assert [sum(column) for column in zip(*rows, strict=True)] == sums["all"]


def test_all_forms(known: Path, tmp_path: Path) -> None:
    shown = profdiff("report", known).stdout
    assert " differs in: program=" in " ".join(shown.split())
    assert "STATE DIFFERS" not in shown
    assert re.search(r"longer: \+[\d,.]+ instructions per op \(\+[\d.]+%\) in user space", shown)
    assert "getppid()" in shown
    profdiff("report", known, "programs", "--csv", tmp_path / "t.csv")
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    (spin,) = (row for row in rows if row["function"] == "spin")
    assert (spin["self a"], spin["self longer"]) == ("200100", "300100")
    profdiff("report", known, "--json", tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    assert "programs" in [one["name"] for one in document["sections"]]
    assert document["kernels"][0]["variant"]["program"].endswith("/program-a")
    mail = profdiff("mail", known).stdout
    assert "in user space, and" in " ".join(mail.split())
    assert str(tmp_path.parents[1]) not in mail
    accesses = topic(known, tmp_path)["tables"]["programs-accesses"]
    assert set(counts(accesses, "count")) == {"loads", "stores"}


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("instructions:user > +40%", 1),
        ("instructions:user > +60%", 0),
        ("instructions:spin > +1", 1),
        ("programs.times:getppid() > +1.5/op", 1),
        ("programs.times:getppid() > +2/op", 0),
        ("programs-functions.kernel:ask > +150%", 1),
        ("programs-functions.self:work > +0", 0),
    ],
)
def test_check(known: Path, condition: str, status: int) -> None:
    profdiff("check", known, "--fail-if", condition, status=status)


def test_both_start_alike(known: Path) -> None:
    """Whatever their paths are here."""
    session = Session.open(known)
    assert session.manifest.workload.guest_argv == ["/work/program", "{ops}"]
    own = [{file.guest_path: file for file in one.files} for one in session.manifest.kernels]
    assert [set(one) for one in own] == [{"/work/program"}] * 2
    assert len({one["/work/program"].sha256 for one in own}) == 2
    assert len({one.image_sha256 for one in session.manifest.kernels}) == 1
    for one in own:
        path = one["/work/program"].path
        assert path and session.path(path).is_file()


def test_a_recording_goes_on_with_the_same_only(
    known: Path, new_kernel: Path, tmp_path: Path
) -> None:
    found = {one.label: one.variant.program for one in Session.open(known).manifest.kernels}
    given = [f"--variant={name}={told.partition('=')[2]}" for name, told in found.items()]
    command = ["--ops", "200", "--", "{program}", "{ops}"]
    start = ["plan", "--kernel", new_kernel, "-o", known]
    assert "0 to do" in profdiff(*start, *given, *command, cwd=known.parent).stdout
    copy = tmp_path / "other"
    shutil.copy(known.parent / found["a"].partition("=")[2], copy)
    swapped = [f"--variant=a={copy}", given[1]]
    told = error_line(profdiff(*start, *swapped, *command, cwd=known.parent, status=2))
    assert "holds a recording with a with program=" in told


@pytest.fixture(scope="session")
def libraries(new_kernel: Path, qemu: Qemu) -> Path:
    """A dynamically linked program, and two builds of its library."""

    def make(folder: Path) -> None:
        for name, loops in (("v1", 100), ("version-2", 300)):
            compiled(folder, "library.c", f"{name}/libserve.so", "-shared", f"-DLOOPS={loops}")
        compiled(folder, "library.c", "use", f"-L{folder / 'v1'}", "-lserve", "-Wl,-z,now")
        own = {"v1": "LD_LIBRARY_PATH=v1", "v2": "LD_LIBRARY_PATH=./version-2"}
        record(folder, new_kernel, own, "l.profdiff", "--", "./use", "50")

    return whole_run.once("libraries", make)


def test_libraries_are_what_callgrind_counts(libraries: Path, tmp_path: Path) -> None:
    """By object, but that an instruction that faults counts once more; what differs is equal. The
    rest of user space is the loader's, and the same for both. The whole command is counted."""
    need_program("valgrind")
    session = Session.open(libraries / "l.profdiff")
    tables = topic(session.folder, tmp_path)["tables"]["programs"]
    ours, sums = counts(tables, "self"), counts(tables, "self", sums=True)
    theirs = [
        callgrind(libraries / "use", tmp_path / name, {"LD_LIBRARY_PATH": name})
        for name in ("v1", "version-2")
    ]
    faults = max(int(run_facts(session, run)["minor_faults"]) for run in session.manifest.runs)
    for name in ("libserve.so", "use"):
        differences = [mine - one[name] for mine, one in zip(ours[name], theirs, strict=True)]
        assert 0 <= differences[0] == differences[1] <= faults
    assert ours["libserve.so"][1] - ours["libserve.so"][0] == 50 * 2 * 200
    assert ours["use"][0] == ours["use"][1]
    (loader,) = (value for key, value in ours.items() if key.startswith("ld-linux"))
    rest = [
        a - b - c
        for a, b, c in zip(sums["user space"], ours["libserve.so"], ours["use"], strict=True)
    ]
    assert loader[0] == loader[1] > 0.9 * rest[0]
    own = [[file.guest_path for file in one.files] for one in session.manifest.kernels]
    assert own == [["/work/lib/libserve.so"]] * 2


def callgrind(program: Path, out: Path, environment: Mapping[str, str]) -> Counter[str]:
    """Instructions by object: lines of costs below ``ob=`` of callgrind's format."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "50"]
    env = {"PATH": "/usr/bin:/bin", **environment}
    subprocess.run(command, check=True, capture_output=True, cwd=program.parent, env=env)
    found: Counter[str] = Counter()
    names: dict[str, str] = {}
    current, skipped = "", False
    for line in out.read_text().splitlines():
        if match := re.match(r"ob=\((\d+)\)(?: (.+))?", line):
            names.setdefault(match[1], Path(match[2] or "").name)
            current = names[match[1]]
        elif match := re.match(r"cob=\((\d+)\) (.+)", line):
            names.setdefault(match[1], Path(match[2]).name)
        elif line.startswith("calls="):
            skipped = True
        elif re.match(r"[+\-*\d]", line):
            found[current] += 0 if skipped else int(line.split()[1])
            skipped = False
    return found


def test_environments(new_kernel: Path, qemu: Qemu, tmp_path: Path) -> None:
    """Of the same size, whatever the values are. Code that the program makes is told as such."""
    compiled(tmp_path, "made.c", "made", "-static")
    own = {"short": "KIND=x", "long": "KIND=another-one"}
    session = record(tmp_path, new_kernel, own, "e.profdiff", "--", "./made")
    told = {
        run.kernel: Session.open(session).path(run.files["stdout"]).read_text()
        for run in Session.open(session).manifest.runs
    }
    starts = {label: text.rpartition(", ") for label, text in told.items()}
    assert starts["short"][0] == starts["long"][0]
    assert starts["short"][0].startswith("started as /work/made with 1, environment ")
    assert (starts["short"][2], starts["long"][2]) == ("x\n", "another-one\n")
    found = topic(session, tmp_path)
    assert counts(found["tables"]["programs"], "self")["unresolved: no-object"] == [200002] * 2
    assert "a JIT's" in found["notes"][0]
    assert "long differs in: KIND=another-one" in profdiff("report", session).stdout


def test_root_folders_and_scripts(new_kernel: Path, qemu: Qemu, tmp_path: Path) -> None:
    """The program of each has one path; so have scripts, of which the interpreter is told."""
    for label, loops in (("one", 10), ("two", 20)):
        compiled(
            tmp_path, "known.c", f"{label}/usr/bin/tool", "-static", f"-DLOOPS={loops}", "-DCALLS=1"
        )
    own = {"one": "./one", "two": tmp_path / "two"}
    ops = ["--ops", 20, "--", "tool", "{ops}"]
    session = record(tmp_path, new_kernel, own, "r.profdiff", *ops)
    assert Session.open(session).manifest.workload.guest_argv[0] == "/usr/bin/tool"
    functions = topic(session, tmp_path)["tables"]["programs-functions"]
    assert counts(functions, "self")["spin"] == [10 * 21, 10 * 41]
    for label, times in (("one", 20), ("two", 40)):
        text = f"#!/bin/sh\nn=0\nwhile [ $n -lt {times} ]; do n=$((n+1)); done\n"
        (tmp_path / f"{label}.sh").write_text(text)
        (tmp_path / f"{label}.sh").chmod(0o755)
    own = {"one": "./one.sh", "two": "two.sh"}
    session = record(tmp_path, new_kernel, own, "s.profdiff", "--", "{program}")
    found = topic(session, tmp_path)
    assert "busybox is an interpreter" in found["notes"][0]
    one, two = counts(found["tables"]["programs"], "self")["busybox"]
    assert 0 < one < two


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["a=A", "--", "{program}"], "--variant a is the only one: give --variant at least twice"),
        (["a=A", "a=B", "--", "{program}"], "--variant: the label a is given twice"),
        (["a=A", "b=gone", "--", "{program}"], "there is no file or folder gone"),
        (["a=A", "b=X=1", "--", "{program}"], "a is a program, b is an environment: give variants"),
        (["a=A", "b=B", "--", "./A"], "write -- '{program}' ARGUMENTS"),
        (["a=A", "b=B", "--", "sh", "{program}"], "write -- '{program}' ARGUMENTS"),
        (["a=X=1", "b=X=2", "--", "{program}"], "{program} stands for programs"),
        (["A", "b=B", "--", "{program}"], "write LABEL=PROGRAM, LABEL=DIR or LABEL=NAME=VALUE"),
        (["a=A", "b=B", "--kernel=c=K", "--", "{program}"], "on one kernel, and --kernel gives 2"),
        (["a=A", "b=B", "--arch=x86_64", "--", "{program}"], "leave --arch out"),
        (["a=A", "b=B", "--suite=syscalls"], "of one COMMAND: a suite has several"),
        (["a=A", "b=M", "--", "{program}"], "b has marks and a has none"),
        (["a=A", "b=p.py", "--", "{program}"], "these start differently"),
        (["a=X=1", "b=X=2", "--collector=perf", "--", "./A"], "perf starts the command itself"),
    ],
)
def test_what_cannot_be_compared(
    new_kernel: Path,
    qemu: Qemu,
    tmp_path: Path,
    given: Sequence[str],
    told: str,
) -> None:
    marked = '#include "profdiff.h"\nint main(void){PROFDIFF_START();PROFDIFF_STOP();return 0;}'
    for name, text in (("A", "int main(){}"), ("B", "int main(){return 1;}"), ("M", marked)):
        (tmp_path / f"{name}.c").write_text(text)
        words = ["-static", f"-I{ROOT / 'collectors/guest'}", "-o", name, f"{name}.c"]
        subprocess.run(["cc", *words], check=True, cwd=tmp_path)
    (tmp_path / "p.py").write_text("print(1)\n")
    end = given.index("--") if "--" in given else len(given)
    words = [
        f"--kernel=c={new_kernel}" if word == "--kernel=c=K" else word
        for word in (one if one[:2] == "--" else f"--variant={one}" for one in given[:end])
    ]
    found = profdiff("plan", "--kernel", new_kernel, *words, *given[end:], cwd=tmp_path, status=2)
    assert told in error_line(found)


def test_a_machine_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    words = ["--kernel=running", "--variant=a=X=1", "--variant=b=X=2", "--", "/bin/true"]
    assert "--variant is for guests" in error_line(profdiff("plan", *words, status=2))
