"""What the letter says of a session."""

import re
import shutil
import subprocess
import typing
from collections.abc import Sequence
from pathlib import Path

import pytest
from mail.letters import SOURCE, found, written
from msgspec.structs import replace
from support import ROOT, need_program
from synthetic import Row, compare, example, findings, frame, manifest

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.collectors.workload.workload import prepare
from profdiff.mail.content import MailOptions, letter, refuse_accident
from profdiff.mail.draft import Kind, attach
from profdiff.mail.letter import SECTIONS
from profdiff.mail.reproducer import MAX_LINES, Reproducer
from profdiff.recording import plan
from profdiff.session import manifest as m
from profdiff.session.kernel_config import OptionDifference
from profdiff.session.session import Session
from profdiff.session.state import State
from profdiff.views.claims.checklist import Grounds, Item, items
from profdiff.views.kernels.state import interleaved
from profdiff.views.results import recording

COSTS = {"a": 4, "b": 5, "c": 6, "d": 3}


def judged(known: Grounds) -> dict[str, Item]:
    return {item.text: item for item in items(known)}


def known(**changes: object) -> Grounds:
    return replace(Grounds(found()), **changes)  # type: ignore[arg-type]


def paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n")]


def test_the_first_sentence_says_what_where_and_by_how_much() -> None:
    """In the example: 3,067,371 instructions against 1,448,096."""
    assert paragraphs(written().render())[0] == (
        "work executes 111.8% more instructions on Linux 6.1.0 (new) than on Linux 6.0.0 (base), "
        "under an emulator: 3,067,371 instead of 1,448,096 instructions."
    )
    swapped = dict(zip(("new", "base"), example().values(), strict=True))
    fewer = letter(findings([compare(dict(reversed(swapped.items())))]), _wishes())
    assert "52.8% fewer instructions on Linux 6.1.0 (new)" in paragraphs(fewer.render())[0]
    same = {"a": example()["base"], "b": example()["base"]}
    equal = letter(findings([compare(same)]), _wishes())
    assert "executes exactly as many instructions on" in paragraphs(equal.render())[0]
    costs: dict[str, Sequence[Row]] = {
        label: [([frame("f")], "f", True, [n])] for label, n in COSTS.items()
    }
    most = letter(findings([compare(costs)]), _wishes())
    assert "50.0% more instructions on Linux 6.2.0 (c) than" in paragraphs(most.render())[0]
    assert "d executes 0.750 times the instructions of a" in " ".join(most.render().split())
    one = findings([compare({"a": example()["base"]})])
    alone = letter(one, _wishes())
    assert paragraphs(alone.render())[0].startswith("work executes 1,448,096 instructions on Linux")
    first = items(Grounds(one))[0]
    assert (first.done, first.note) == (False, "one kernel alone")


def _wishes(**rest: object) -> MailOptions:
    return MailOptions(["profdiff", "mail"], **rest)  # type: ignore[arg-type]


def test_sections_stand_in_their_order_and_can_be_left_out() -> None:
    whole = written(_wishes(reproducer=Reproducer.read(SOURCE))).render()
    starts = ["\nFunctions that changed most", "\nHow it was measured:", "\nHow to reproduce:"]
    places = [whole.index(start) for start in starts]
    assert places == sorted(places)
    for name, lost in zip(("functions", "measured", "reproducer"), starts, strict=True):
        less = written(_wishes(without=[name])).render()
        assert lost not in less
        assert all(start in less for start in starts if start != lost)
    nothing = written(_wishes(without=list(SECTIONS))).render()
    assert nothing.startswith("work executes 111.8% more instructions")
    assert len(nothing.splitlines()) < 17
    text = " ".join(whole.split())
    for fact in (
        "Workload: work 1 (40,000 ops; 2 marked windows)",
        "base: Linux 6.0.0, build id abababababab, the base",
        "compiler: gcc 12.2.0",
        "Every instruction of the workload is counted",
        "Counts are per op (what --ops counts): the total of 40,000 ops, divided by 40,000. They",
        "They say nothing about time, cycles or caches",
        "QEMU TCG (version 7.2.22; 1 vCPU, 512 MiB)",
        "failed run new-2: the workload ended with exit status 3",
    ):
        assert fact in text, fact
    # What was not measured is not said.
    assert "synthetic" not in text
    assert "Used by: JITs do this." in written(_wishes(real_use="JITs do this.")).render()


def test_the_functions_are_those_of_the_report_and_add_up() -> None:
    said = written().render().splitlines()
    start = next(at for at, line in enumerate(said) if line.endswith("change  function"))
    table = [line.split() for line in said[start + 1 : said.index("", start)]]
    assert ["28.61", "33.59", "+4.98", "+17.4%", "change_pte_range", "[.isra.0]"] in table
    assert table[-1] == ["36.20", "76.68", "+40.48", "+111.8%", "all"]
    sums = [sum(float(row[column]) for row in table if len(row) > 2) for column in range(3)]
    assert sums == pytest.approx([2 * 36.20, 2 * 76.68, 2 * 40.48], abs=0.05)
    few = written(_wishes(top=1)).render()
    assert "prot_commit_flush_ptes" in few
    assert "4 other functions" in few


@pytest.mark.parametrize("size", [1, 10, 40])
def test_the_command_is_one_for_a_shell(size: int) -> None:
    """Wrapped as it is, a shell reads the same words."""
    words = [
        "profdiff",
        "record",
        "--kernel",
        "a b",
        "--",
        "./work",
        *("x" * 9 for _ in range(size)),
    ]
    one = found()
    said = letter(replace(one, manifest=m.replace(one.manifest, command=words)), _wishes()).render()
    block = said.split("How to reproduce:\n")[1].split("\n\n")[0]
    read = subprocess.run(
        ["sh", "-c", f"set -- {block}\nprintf '%s\\n' \"$@\""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout.splitlines() == words
    assert all(len(line) <= 75 for line in block.splitlines())
    assert (len(block.splitlines()) > 1) == (size > 1)


def test_the_footer_tells_the_tool_and_its_input() -> None:
    said = written(MailOptions(["profdiff", "mail", "a b"])).render()
    assert said.endswith(f"\n-- \nprofdiff {__version__}: profdiff mail 'a b'\n")
    assert "profdiff record" in said
    older = replace(found(), manifest=m.replace(found().manifest, profdiff="0.0.9"))
    assert "; recorded by profdiff 0.0.9: " in letter(older, _wishes()).render()


def test_seventeen_items_and_what_is_missing_of_them() -> None:
    all_ = judged(known())
    assert len(all_) == 17
    done = {text for text, item in all_.items() if item.done}
    assert done == {"Hot functions and their instructions", "Work per op"}
    assert all_["Repetitions"].note == "1 run of each kernel, 1 failed"
    assert all(item.note for item in all_.values())
    assert "[_]" not in written().render()
    asked = written(_wishes(checklist=True)).render()
    lines = [line for line in asked.splitlines() if re.match(r"\[[x_]\] \w", line)]
    assert len(lines) == 17


def test_items_are_done_where_the_session_shows_it() -> None:
    rows = [([frame("f")], "f", True, [10, 10])]
    ladder = compare({"base": rows, "patch": rows, "reverted": rows})
    assert judged(known(findings=findings([ladder])))["Every patch, with spread"].done
    assert judged(known(findings=findings([ladder])))["Repetitions"].done
    both = judged(known(findings=findings([ladder]), culprit="54a4f0239f2e"))[
        "Bisection and revert"
    ]
    assert (both.done, both.note) == (True, "54a4f0239f2e; reverted")
    lone = judged(known(culprit="54a4f0239f2e"))["Bisection and revert"]
    assert (lone.done, lone.note) == (False, "missing: a kernel with it reverted")
    assert judged(known(real_use="JITs"))["A real user"].done
    assert judged(known(source="included"))["Reproducer"].done
    assert not judged(known(source="too long"))["Reproducer"].done


def test_bare_metal_is_what_no_emulator_and_no_hypervisor_ran() -> None:
    emulated = found()
    runs = [m.replace(run, qemu=None, collector="perf") for run in emulated.manifest.runs]
    bare = replace(emulated, manifest=m.replace(emulated.manifest, runs=runs))
    for own, done in (
        ({"processor": "EPYC"}, True),
        ({"processor": "EPYC", "hypervisor": "yes"}, False),
        ({}, False),
    ):
        facts = replace(emulated.facts, machines={"base": own, "new": own})
        one = replace(bare, facts=facts)
        assert judged(known(findings=one))["Bare metal"].done == done
        assert not judged(known(findings=replace(emulated, facts=facts)))["Bare metal"].done


def test_the_state_is_the_same_where_all_of_it_is_known() -> None:
    faults: dict[str, str] = {"minor_faults": "4"}
    other: dict[str, dict[str, str | None]] = {"x": {"base": "4", "new": "9"}}
    for state, done, note in (
        (State(equal=faults), True, "1 fact compared, all equal"),
        (State(equal=faults, unknown=["system calls"]), False, "system calls"),
        (State(), False, "state"),
        (State(other, equal=faults), False, "x differ"),
    ):
        item = judged(known(findings=replace(found(), state=state)))["Same work in the same state"]
        assert item.done == done
        assert note in item.note
    differs = replace(found(), state=State(other))
    said = letter(differs, _wishes()).render()
    assert said.index("STATE DIFFERS: x: base 4, new 9") < said.index("Functions that")


@pytest.mark.parametrize(
    ("labels", "mixed"),
    [("abab", True), ("aabb", False), ("abba", True), ("aa", False), ("ab", False), ("", False)],
)
def test_interleaved(labels: str, mixed: bool) -> None:
    run = manifest(["a"]).runs[0]
    runs = [
        m.replace(run, kernel=label, started=f"2026-11-20T22:00:{number:02}Z")
        for number, label in enumerate(labels)
    ]
    assert interleaved(runs) == mixed


def test_hostile_names_stay_in_their_cells() -> None:
    names = [
        "a\x1b[2Jb",
        "x\u202ey",
        "Cc: evil@example.net",
        "#regzbot invalid: no",
        "山田",
        "n" * 3000,
    ]
    rows = [
        ([frame(name, owner=name, file=name)], name, True, [10 + number])
        for number, name in enumerate(names)
    ]
    more = [(*row[:3], [20 + row[3][0]]) for row in rows]
    said = letter(findings([compare({"a": rows, "b": more[1:]})]), _wishes()).render()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)
    assert not re.search(r"(?m)^(?:Cc:|#regzbot)", said)
    assert "山田" in said


def test_a_reproducer_is_inlined_where_it_is_short(tmp_path: Path) -> None:
    said = written(_wishes(reproducer=Reproducer.read(SOURCE))).render()
    assert SOURCE.read_text().rstrip("\n") in said
    long = tmp_path / "long.c"
    for text in ("int a;\n" * (MAX_LINES + 1), "x" * 20_000):
        long.write_text(text)
        assert Reproducer.read(long) == Reproducer("long.c", None)
    assert "long.c is too long" in written(_wishes(reproducer=Reproducer.read(long))).render()
    long.write_bytes(b"\x7fELF\0")
    for path in (long, tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match="--reproducer"):
            Reproducer.read(path)


def test_the_reproducer_builds_without_profdiff_as_the_mail_says(tmp_path: Path) -> None:
    need_program("cc", "gcc")
    said = written(_wishes(reproducer=Reproducer.read(SOURCE))).render()
    (command,) = re.findall(r"(?m)^  (touch .*)$", said)
    shutil.copy(SOURCE, tmp_path)
    subprocess.run(["sh", "-ec", command], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "a.out", "4", "2"], capture_output=True, text=True, check=True)
    assert "4 KiB:" in ran.stdout


@pytest.mark.build
def test_the_session_keeps_what_was_compiled(tmp_path: Path) -> None:
    need_program("cc", "gcc")
    headers = tmp_path / "include"
    headers.mkdir()
    shutil.copy(ROOT / "collectors/guest/profdiff.h", headers)
    prepared = prepare([str(SOURCE), "4", "2"], [], tmp_path / "build", headers)
    kernels = manifest(["base"]).kernels
    planned = m.replace(
        manifest(["base"]), kernels=kernels, workload=plan.describe_workload(prepared, [])
    )
    for _ in range(2):  # The second time it is resumed.
        opened = plan.open_session(
            tmp_path / "s", planned, plan.kept_code(prepared.files, {}), prepared.source
        )
    assert Reproducer.of(opened) == Reproducer(SOURCE.name, SOURCE.read_text())
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    prepared = prepare([str(script)], [], tmp_path / "build", headers)
    planned = m.replace(planned, workload=plan.describe_workload(prepared, []))
    opened = plan.open_session(
        tmp_path / "t", planned, plan.kept_code(prepared.files, {}), prepared.source
    )
    assert Reproducer.of(opened) == Reproducer("run.sh", script.read_text())


def test_a_session_cannot_make_the_mail_read_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.c"
    secret.write_text("the secret")
    described = manifest(["base"])
    for kind in ("source", "script"):
        workload = m.replace(described.workload, argv=[str(secret)], kind=kind)
        assert Reproducer.of(Session(tmp_path, m.replace(described, workload=workload))) is None
    (tmp_path / "s").mkdir()
    (tmp_path / "s/link").symlink_to(secret)
    file = m.WorkloadFile(guest_path="/w", sha256="00", executable=True, path="link")
    workload = m.replace(described.workload, kind="script", files=[file])
    assert Reproducer.of(Session(tmp_path / "s", m.replace(described, workload=workload))) is None


def test_attachments_are_whole_or_say_what_is_left_out() -> None:
    whole = attach("folded", found(), 10_000)
    assert "all stacks" in whole.note
    lines = whole.text.splitlines()
    assert "change_pte_range;commit_anon_folio_batch 0 620000" in lines
    part = attach("folded", found(), 120)
    assert len(part.text.encode()) <= 120
    kept = part.text.splitlines()
    assert f"the {len(kept)} of {len(lines)} stacks that differ most" in part.note

    def size(line: str) -> int:
        base, other = line.split()[-2:]
        return abs(int(base) - int(other))

    assert min(map(size, kept)) >= max(size(line) for line in lines if line not in kept)
    picture = attach("svg", found(), 100_000)
    assert picture.text.startswith("<?xml") or picture.text.startswith("<svg")
    with pytest.raises(InputError, match="the mail has room for 100"):
        attach("svg", found(), 100)
    for kind in typing.get_args(Kind):
        with pytest.raises(InputError, match="only one kernel"):
            attach(kind, findings([compare({"base": example()["base"]})]), 100_000)


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"compilers": {"base": "gcc 12", "new": "gcc 14"}}, "gcc 12 and gcc 14"),
        ({"config": [("CONFIG_PREEMPT", "n", "y")]}, r"CONFIG_PREEMPT \(n and y\)"),
        ({"config": [(f"CONFIG_PREEMPT_{n}", "n", "y") for n in range(5)]}, "and 2 more"),
        ({"config": [("CONFIG_PREEMPT_LAZY", None, "y")]}, ""),
        ({"config": [("CONFIG_SND", "n", "y")]}, ""),
        ({"compilers": {"new": "gcc 14"}}, ""),
    ],
)
def test_a_regression_is_of_kernels_that_are_built_alike(
    differs: dict[str, typing.Any], said: str
) -> None:
    """An option that only one kernel knows is part of its code."""
    config = [
        OptionDifference(name, {"base": base, "new": new})
        for name, base, new in differs.get("config", [])
    ]
    plain = found()
    facts = replace(plain.facts, compilers=differs.get("compilers", {}), config=config)
    one = replace(plain, facts=facts)
    if not said:
        refuse_accident(one)
        return
    with pytest.raises(
        InputError, match=f"are built differently, which may be the cause: .*{said}"
    ):
        refuse_accident(one)


def test_a_mail_names_qemu_without_its_package() -> None:
    """And leaves all else as it is told."""
    comparison = compare(example())
    qemu = m.Qemu(version="QEMU emulator version 7.2.22 (Debian 1)", arguments=[], plugin_api=1)
    runs = [m.replace(run, qemu=qemu) for run in comparison.runs]
    comparison = replace(comparison, runs=runs, remarks=["of version 1.2 (beta)"])
    brief, whole = (
        [one.text for one in recording.remarks([comparison], brief=brief)]
        for brief in (True, False)
    )
    assert any("exact: QEMU TCG (7.2.22; 1 vCPU" in one for one in brief)
    assert any("counted by QEMU TCG (version 7.2.22 (Debian 1); 1" in one for one in whole)
    assert "of version 1.2 (beta)" in brief
