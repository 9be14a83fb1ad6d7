"""What profdiff can answer of a report of the robot's, and the recording that does."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.evidence.lkp.kinds import Kind
from profdiff.evidence.lkp.report import Case, Report
from profdiff.views.lkp_workload import Workload, left_out, workload
from profdiff.views.record import Record

_HASH = re.compile(r"[0-9a-f]{7,40}")
_TAG = re.compile(r"v\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-rc\d{1,2})?|next-\d{8}")
# Trees that hold patches from lists, beside those that everybody has.
_OWN_TREES = ("intel-lab-lkp", "0day-ci")


class Question(NamedTuple):
    """``answer``: what the recording shows; ``collectors`` that it takes; ``beside``: whether
    several vCPUs have to do the same at the same time; ``repeat``: boots, 1 where one says all;
    ``then``: what shows the answer."""

    answer: str
    collectors: Sequence[str]
    beside: bool
    repeat: int
    then: Sequence[str]


_EXACT = "which functions, lines and commits the instructions of an op belong to"
_QUESTIONS: Mapping[Kind, Question] = {
    "instructions": Question(_EXACT, ["exact"], False, 1, ["profdiff report", "profdiff blame"]),
    "lock": Question(
        "which lock or counter changes hands, what executes while it is held, and what waiting "
        "adds when two want it",
        ["exact", "sharing", "contention"],
        True,
        4,
        ["profdiff report --sharing", "profdiff report"],
    ),
    "lines": Question(
        "which fields lie in the cache lines that change hands, and whether that is true or false "
        "sharing",
        ["exact", "sharing"],
        True,
        1,
        ["profdiff report --sharing", "profdiff report --layout"],
    ),
    "layout": Question(
        f"{_EXACT}: if they are the same, the difference is where code lies, which no count shows",
        ["exact"],
        False,
        1,
        ["profdiff report"],
    ),
    "waiting": Question(
        "how many context switches, wake-ups and interprocessor interrupts an op takes; neither "
        "how long they take nor the frequency",
        ["exact"],
        True,
        1,
        ["profdiff report --events", "profdiff report"],
    ),
    "mixed": Question(_EXACT, ["exact"], False, 1, ["profdiff report"]),
    "unknown": Question(
        f"{_EXACT}: if they are the same, look at lines with --collector sharing",
        ["exact"],
        False,
        1,
        ["profdiff report"],
    ),
}


# What shows where several do the same at the same time.
_BESIDE: Sequence[Kind] = ("lock", "lines", "waiting")


class Experiment(Record, frozen=True):
    """``options``: by their names in an experiment file (docs/experiments.md); ``suite`` and
    ``cell``: of a recording that is of the built-in suite, "" elsewhere; ``command``: the words of
    the command that records it."""

    options: dict[str, int | list[str]]
    suite: str
    cell: str
    command: list[str]


class Answer(Record, frozen=True):
    """``answer``: what profdiff can say here; ``experiment``: what records it, null where profdiff
    has no such workload or revision, which is among ``notes``; ``then``: commands that show it."""

    answer: str
    experiment: Experiment | None
    then: list[str]
    notes: list[str]


def answer(report: Report, case: Case, kind: Kind, repository: str) -> Answer:
    """For the likeliest kind of a case; ``repository``: where the user's Linux lies."""
    revisions = [revision(report, case, column) for column in (0, case.column)]
    found = workload(case)
    question = _QUESTIONS[kind]
    alone = ""
    if found and found.cell and kind in _BESIDE and not found.cell.startswith("pingpong/"):
        # A cell runs by itself: it shows neither contention nor waiting.
        alone, found = found.cell, None
    notes = list(_notes(report, case, found))
    if found is None or None in revisions:
        told = case.table.parameters
        name = " ".join(told[key] for key in ("testcase", "test") if told.get(key))
        if found is None:
            near = f"; the suite's {alone} makes such calls, by themselves" if alone else ""
            notes.insert(0, f"profdiff has no workload for {name or 'this test'}{near}")
        else:
            notes.insert(0, "the table names a kernel that only the robot has")
        return Answer(answer=question.answer, experiment=None, then=[], notes=notes)
    labels = ("parent", "commit")
    kernels = [
        f"{label}=git:{repository}@{one}" for label, one in zip(labels, revisions, strict=True)
    ]
    made = _experiment(kernels, found, question)
    return Answer(answer=question.answer, experiment=made, then=[*question.then], notes=notes)


def _experiment(kernels: list[str], found: Workload, question: Question) -> Experiment:
    if found.cell:
        words = [word for kernel in kernels for word in ("--kernel", kernel)]
        words = ["profdiff", "record", "--suite", "syscalls", "--only", found.cell, *words]
        return Experiment(
            options={"kernel": kernels}, suite="syscalls", cell=found.cell, command=words
        )
    options: dict[str, int | list[str]] = {"kernel": kernels}
    options["collector"] = [*question.collectors]
    if question.beside:
        options["cpus"] = 2
        if found.copies:
            options["copies"] = 2
    if question.repeat > 1:
        options["repeat"] = question.repeat
    options["ops"] = found.ops
    options["command"] = [*found.argv]
    words = ["profdiff", "record"]
    for name, value in options.items():
        if name == "kernel":
            words += [word for kernel in kernels for word in ("--kernel", kernel)]
        elif name != "command":
            words += [f"--{name}", ",".join(value) if isinstance(value, list) else str(value)]
    return Experiment(options=options, suite="", cell="", command=[*words, "--", *found.argv])


def revision(report: Report, case: Case, column: int) -> str | None:
    """How git names a column's kernel: a hash, as long as the mail has it, or a tag; None where it
    is neither."""
    names = [one.name for one in case.table.revisions[column : column + 1]]
    if any(not _HASH.fullmatch(name) and not _TAG.fullmatch(name) for name in names):
        # What the robot put on top (v6.9-rc4+patch): its hash is nobody else's.
        return None
    names.append(case.table.heads[column])
    if column == case.column:
        names.append(report.commit)
    hashes = [name for name in names if _HASH.fullmatch(name)]
    if hashes:
        shortest = min(hashes, key=len)
        return max((one for one in hashes if one.startswith(shortest)), key=len)
    return next((name for name in names if _TAG.fullmatch(name)), None)


def _notes(report: Report, case: Case, found: Workload | None) -> list[str]:
    notes = [found.note] if found else []
    if found and (others := [*left_out(case, found)]):
        notes.append(f"the robot's test had {', '.join(others)}, which this recording has not")
    if any(name in report.tree for name in _OWN_TREES):
        notes.append(f"the commit is a patch from a list; the robot's tree has it: {report.tree}")
    if kconfig := case.table.parameters.get("kconfig"):
        notes.append(
            f"the robot's config was {kconfig}; profdiff's is small: add ,config=FILE to both "
            "kernels for what the test needs"
        )
    return notes
