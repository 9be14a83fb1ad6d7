"""A kernel of a ladder that executes the code of the one before says so, in every form."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page
from linked import functions, instructions, link
from support import unclaimed
from synthetic_series import rows
from synthetic_session import counts_file, exact_session

from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.same_code import same_code
from profdiff.mail import content
from profdiff.reports import documents
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.symbolization._native import elf_build_id
from profdiff.topics.functions.selection import Selection

pytestmark = [pytest.mark.build]

SAID = "executes the same code"
KERNEL = """// kernel.c
int counter = 3, *where = &counter;
static const char *const names[] = {"first", "second"};
__attribute__((noinline)) int schedule(int i) { return i + counter; }
__attribute__((noinline)) int other(int i) { return i - counter; }
int executed(int i) {
    where = &counter;
    for (counter = i; i < 9; i += 2)
        counter += schedule(i) + names[i & 1][0];
    return counter;
}
int idle(int i) { return i * 5; }
"""
INSERTED = "// a.c\nint before = 7, array[90] = {1};\nint inserted(int i) { return array[i]; }\n"
# What each patch makes of it; kernels lie elsewhere in memory, as KASLR moves them.
PATCHES = {
    "base": [KERNEL],
    "1-idle": [KERNEL.replace("i * 5", "i * 7")],
    "2-moved": [INSERTED, KERNEL],
    "3-number": [KERNEL.replace("i += 2", "i += 3")],
    "4-callee": [KERNEL.replace("schedule(i) +", "other(i) +").replace("i += 2", "i += 3")],
    "5-back": [INSERTED, KERNEL],
}
MOVED = {label: 0x200000 * number for number, label in enumerate(PATCHES)}


def recorded(
    folder: Path,
    patches: Mapping[str, Sequence[str]] = PATCHES,
    executed: Sequence[str] = ("executed", "schedule", "other"),
    *,
    architecture: str = "x86_64",
    without: str = "",
) -> Findings:
    """Of a session whose kernels executed all of some functions, each four times and once more for
    each kernel; ``without``: the kernel whose counts hold no code."""
    (folder / "built").mkdir()
    made = {label: rows({"executed": 4}) for label in patches}
    session = exact_session(folder / "s.profdiff", made, files={"kallsyms": b""})
    kernels, runs = [], []
    for number, kernel in enumerate(session.manifest.kernels):
        moved, label = MOVED[kernel.label], kernel.label
        elf = link(folder / "built", *patches[label], architecture=architecture)
        (run,) = [run for run in session.manifest.runs if run.kernel == label]
        told = [f"{at + moved:016x} T {name}\n" for name, (at, _) in functions(elf).items()]
        session.path(run.files["kallsyms"]).write_text("".join(told))
        codes = {
            at + moved: code
            for name in executed
            for at, code in instructions(elf, name, architecture).items()
        }
        counts = [(at, 4 + number) for at in sorted(codes)]
        seen = {} if label == without else codes
        session.path(run.files["counts"]).write_bytes(counts_file(counts, seen))
        build_id = elf_build_id(str(elf))
        kernels.append(m.replace(kernel, debug_elf=str(elf), build_id=build_id, symbols=None))
        assert run.qemu
        runs.append(m.replace(run, qemu=m.replace(run.qemu, architecture=architecture)))
    session.save(m.replace(session.manifest, kernels=kernels, runs=runs))
    session = Session.open(unclaimed(session.folder))
    return Findings.of(session, choose(session.manifest, None))


def test_every_form_says_it(browser: Any, tmp_path: Path) -> None:
    found = recorded(tmp_path)
    labels = list(PATCHES)
    expected = [True, True, False, False, False]
    (told,) = json.loads(documents.encode(documents.session_document(found)))["metrics"]
    assert [step["same_code"] for step in told["steps"]] == expected
    assert [step["notes"] for step in told["steps"]] == [[SAID] * same for same in expected]
    lines = render(found, Selection(), width=100).splitlines()
    said = [lines[n - 1].split()[0] for n, line in enumerate(lines) if line.strip() == SAID]
    assert said == labels[1:3]
    mail = content.letter(found, content.MailOptions(["profdiff", "mail"])).render().splitlines()
    assert [line.split()[0] for line in mail if line.endswith(SAID)] == labels[1:3]
    page = Page(browser, found, tmp_path, 1280)
    shown = page.page.eval_on_selector_all(
        "#steps tr", "all => all.map(one => [...one.cells].map(cell => cell.textContent))"
    )
    assert [shown[n - 1][0] for n, row in enumerate(shown) if row[-1] == SAID] == labels[1:3]
    page.close()


def test_code_that_was_not_recorded_is_unsure(tmp_path: Path) -> None:
    patches = {label: [KERNEL] for label in list(PATCHES)[:4]}
    found = recorded(tmp_path, patches, without="1-idle")
    assert same_code(found.comparisons[0]) == [None, None, None, True]
    assert SAID in render(found, Selection(), width=100)


def test_only_what_executes_counts(tmp_path: Path) -> None:
    """Another kernel calls another function: what it leads to is its code, whatever its address."""
    patches = {
        "base": [KERNEL],
        "1-idle": [KERNEL.replace("i - counter", "i - 2 * counter")],
        "2-moved": [KERNEL.replace("schedule(i) +", "other(i) +")],
    }
    found = recorded(tmp_path, patches, ["executed"])
    assert same_code(found.comparisons[0]) == [None, True, True]
    (tmp_path / "all").mkdir()
    found = recorded(tmp_path / "all", patches)
    assert same_code(found.comparisons[0]) == [None, False, False]


def test_addresses_of_two_instructions(tmp_path: Path) -> None:
    """arm64 makes an address of a page and the place in it."""
    found = recorded(tmp_path, architecture="aarch64")
    assert same_code(found.comparisons[0])[1:] == [True, True, False, False, False]
