"""What profdiff can answer of a report of the robot's, and the recording that does."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.evidence.lkp.kinds import Kind
from profdiff.evidence.lkp.report import Case, Report
from profdiff.evidence.lkp.slowdown import Ratio
from profdiff.views.record import Record

_TEST = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_METHOD = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_OPS = 2000
# An emulated processor executes some 50 million instructions a second: a run ends within 30 s.
_INSTRUCTIONS, _FEWEST = 500_000_000, 10
# By test case and test, or a part of the metric's name, which cells make the same calls.
CELLS: Sequence[tuple[str, str, str]] = (
    ("lmbench3", r"PIPE", "pingpong/pipe"),
    ("lmbench3", r"UNIX|AF_UNIX", "pingpong/unix-stream"),
    ("lmbench3", r"TCP", "pingpong/tcp"),
    ("lmbench3", r"UDP", "pingpong/udp"),
    ("perf-bench-sched-pipe", r"", "pingpong/pipe"),
    ("hackbench", r"pipe", "pingpong/pipe"),
    ("hackbench", r"", "pingpong/unix-stream"),
    ("netperf", r"TCP_C?RR|TCP_CRR", "pingpong/tcp"),
    ("netperf", r"UDP_RR", "pingpong/udp"),
    ("netperf", r"TCP_(STREAM|MAERTS|SENDFILE)", "inet/tcp,*"),
    ("netperf", r"UDP_STREAM", "inet/udp,*"),
    ("unixbench", r"pipe", "pipe/*"),
    ("unixbench", r"context1", "pingpong/pipe"),
    ("unixbench", r"spawn", "spawn/fork"),
    ("unixbench", r"execl|shell", "exec/*"),
    ("unixbench", r"syscall", "trivial/*"),
    ("unixbench", r"fs(buffer|time|disk)", "write/*"),
    ("aim[79]", r"brk", "brk/*"),
    ("aim[79]", r"page", "fault-write/*"),
    ("aim[79]", r"creat", "create"),
    ("aim[79]", r"fork", "spawn/fork"),
    ("aim[79]", r"exec", "exec/*"),
    ("aim[79]", r"signal", "signal/*"),
    ("aim[79]", r"link", "names/link"),
    ("aim[79]", r"dgram_pipe", "unix/dgram,*"),
    ("aim[79]", r"stream_pipe", "unix/stream,*"),
    ("aim[79]", r"pipe|shared_memory", "pipe/*"),
    ("aim[79]", r"tcp", "inet/tcp,*"),
    ("aim[79]", r"udp", "inet/udp,*"),
    ("aim[79]", r"sync_disk", "extent/fsync"),
    ("aim[79]", r"disk_r|disk_src", "read/*"),
    ("aim[79]", r"disk", "write/*"),
    ("vm-scalability", r"lru-file-mmap|mmap-.*read", "fault-cached/read,*"),
    ("vm-scalability", r"shm|mmap", "fault-write/tmpfs"),
    ("vm-scalability", r"anon-cow", "fault-cow/*"),
    ("vm-scalability", r"hugetlb", "hugetlb/fault"),
    ("vm-scalability", r"anon|swap|small-allocs", "fault-write/anon"),
    ("vm-scalability", r"truncate", "extent-change/ftruncate"),
    ("vm-scalability", r"lru-file-read", "read/*"),
    ("vm-scalability", r"lru-file-write", "write/*"),
    ("vm-scalability", r"mremap", "mremap-move/*"),
    ("vm-scalability", r"msync", "msync/*"),
    ("fxmark", r"MWCL|MWCM|MWUL|MWUM", "create"),
    ("fxmark", r"MWRL|MWRM", "names/rename"),
    ("fxmark", r"MRP|MRDL|MRDM", "stat/stat"),
    ("fxmark", r"DWSL", "extent/fsync"),
    ("fxmark", r"DWAL|DWTL", "append/*"),
    ("fxmark", r"DWOL|DWOM", "write/*"),
    ("fxmark", r"DRB", "read/*"),
    ("fsmark", r"", "create"),
)
# What another machine, or a longer run, decides, and what every test of the robot's has.
_NEUTRAL = re.compile(
    r"cluster|compiler|cpufreq_governor|class|debug-setup|group|ip|iterations|kconfig|load|mode|"
    r"nr_(?:task|threads|job|processes|cpu)s?|number|period|rootfs|runtime|size|tbox_group|test\w*|"
    r"ucode"
)


# What lies below the system calls of files.
_STORAGE = ("fs=", "fs1=", "fs2=", "fstype=", "disk=", "mount_option=")
_IN_MEMORY = (
    "the guest's files lie in memory, so what that file system or disk does is in no count: that "
    "nothing differs here does not clear it"
)


class Workload(NamedTuple):
    """``argv``: a command, empty where ``cell`` of the suite ``syscalls``, a pattern, stands for
    it; ``copies``: whether copies of it run beside each other; ``note``: where it comes from;
    ``uses``: parameters of the robot's that it has."""

    argv: Sequence[str]
    cell: str
    ops: int
    copies: bool
    note: str
    uses: Sequence[str] = ()


def workload(case: Case) -> Workload | None:
    """None where nothing does what the test did."""
    told = case.table.parameters
    kind, test = told.get("testcase", ""), told.get("test", "")
    if kind == "will-it-scale" and _TEST.fullmatch(test):
        argv = [f"./{test}.c", *(["threads"] if told.get("mode") == "thread" else [])]
        note = f"{test}.c is in tests/ of https://github.com/antonblanchard/will-it-scale"
        return Workload(argv, "", _OPS, True, note)
    if kind == "stress-ng" and _TEST.fullmatch(test):
        argv = ["stress-ng", f"--{test}", "1", f"--{test}-ops", "{ops}"]
        method = told.get("method", "")
        if _METHOD.fullmatch(method):
            argv += [f"--{test}-method", method]
        uses = ["method"] if _METHOD.fullmatch(method) else []
        note = "stress-ng is in Debian's package of this name"
        return Workload(argv, "", _ops(case), True, note, uses)
    if kind.startswith("fio"):
        return _fio(told)
    return _cell(case, kind, test)


def _ops(case: Case) -> int:
    """So many that a run ends soon, by the instructions of an op on the robot's base kernel, which
    are the whole machine's, and so at least the test's."""
    each = _each(case)
    if each is None:
        return _OPS // 10
    most = max(_FEWEST, min(_OPS, int(_INSTRUCTIONS / each)))
    digits = int(10 ** (len(str(most)) - 1))
    return most // digits * digits


def _each(case: Case) -> float | None:
    """Instructions of an op; None where the table does not tell."""
    rate = case.row(case.metric or "")
    whole, done = case.row("perf-stat.total.instructions"), None
    if case.metric and case.metric.endswith(".ops_per_sec"):
        done = case.row(case.metric.removesuffix("_per_sec"))
        if whole is None or done is None:
            whole, done = case.row("perf-stat.ps.instructions"), rate
    if whole is None or done is None or Ratio.of(whole, case.column) is None:
        return None
    return whole.means[0].value / done.means[0].value if done.means[0].value > 0 else None


def _fio(told: Mapping[str, str]) -> Workload | None:
    """fio on a file of the guest's, which lies in memory."""
    way, engine = told.get("rw", ""), told.get("ioengine", "sync")
    size = told.get("bs", "4k").lower()
    if not re.fullmatch(r"(rand)?(read|write|rw)", way) or not re.fullmatch(r"\d{1,4}[km]?", size):
        return None
    if engine not in ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "mmap"):
        return None
    argv = ["fio", "--name=robot", "--filename=/tmp/robot", "--size=16m", "--io_size=1t"]
    argv += ["--thread", f"--rw={way}", f"--bs={size}", f"--ioengine={engine}"]
    argv += ["--number_ios={ops}"]
    note = "near, not the same: fio, of Debian's package, on a file in memory"
    return Workload(argv, "", _OPS // 10, False, note, ["rw", "bs", "ioengine"])


def _cell(case: Case, kind: str, test: str) -> Workload | None:
    name = f"{test} {case.metric or ''} {case.table.parameters.get('ipc', '')}"
    for kinds, tests, cell in CELLS:
        if re.fullmatch(kinds, kind) and re.search(tests, name):
            note = f"near, not the same: the suite's {cell} makes the calls of {kind}'s test"
            return Workload((), cell, 0, False, note, ["ipc"])
    return None


def left_out(case: Case, found: Workload) -> Iterator[str]:
    """Parameters that decide what a test does, and that the recording has not."""
    for name, value in case.table.parameters.items():
        if not _NEUTRAL.fullmatch(name) and name not in found.uses:
            yield f"{name}={value}"


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
        if any(other.startswith(_STORAGE) for other in others):
            notes.append(_IN_MEMORY)
    if any(name in report.tree for name in _OWN_TREES):
        notes.append(f"the commit is a patch from a list; the robot's tree has it: {report.tree}")
    if kconfig := case.table.parameters.get("kconfig"):
        notes.append(
            f"the robot's config was {kconfig}; profdiff's is small: add ,config=FILE to both "
            "kernels for what the test needs"
        )
    return notes
