"""How the numbers of a mail came about, and what they rest on: what was measured, on what, in which
state, in words that not every reader of a list knows."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.metric import TRANSFERRED
from profdiff.collectors import registry
from profdiff.collectors.kernels.variant import split, suffix
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import LargestChange
from profdiff.mail.letter import WIDTH, Notes, Part, Section
from profdiff.session import manifest as m
from profdiff.session.manifest import Kernel, Manifest
from profdiff.views.kernels import facts, state
from profdiff.views.kernels.state import Machine
from profdiff.views.results import notes, recording

_PART = r"[^\s/'\"`=:,;()<>\[\]{}|&]+"
# Absolute, of the home folder, or relative to a folder above; one part alone says nothing.
_PATH = re.compile(rf"(?<![\w./~@%+-])((?:~[\w.-]*|\.{{1,2}})?/(?:{_PART}/+)*{_PART}/*)")
# What every machine has.
_EVERYWHERE = ("/proc/", "/sys/", "/dev/")
# Of a program's arguments, folders that every machine has.
_SYSTEM = (*_EVERYWHERE, "/bin/", "/sbin/", "/lib", "/usr/", "/etc/")
# Options whose values are no paths of the writer's machine, though they may look like some.
_VERBATIM = ("--append", "--metric")
_VERBATIM_SET = tuple(f"{option}=" for option in _VERBATIM)
_GLUED = re.compile(r"(-[A-Za-z]|@|\w{1,10}://)([/~.].*)", re.DOTALL)
# git:REPO@REV: a branch may have slashes.
_GIT = re.compile(r"((?:[\w.+-]+=)*git:)([^@,:]+)(@[^,]*)?(.*)", re.DOTALL)


def without_paths(text: str) -> str:
    """``text`` with the last part of each path in place of the path."""
    return _PATH.sub(lambda match: _last(match[1]), text)


def _last(path: str) -> str:
    name = PurePosixPath(path).name
    if path.startswith(_EVERYWHERE) or path == f"/{name}" or path == f"./{name}":
        return path
    return name


def words_without_paths(words: Sequence[str]) -> list[str]:
    """The same of words of a command line, which may hold blanks."""
    return [_word(word) for word in words]


def _word(word: str) -> str:
    # -I/home/me/include, @/home/me/arguments, file:///home/me/x
    if glued := _GLUED.fullmatch(word):
        return f"{glued[1]}{_word(glued[2])}"
    before, equals, value = word.partition("=")
    if equals and re.fullmatch(r"[\w.+-]+", before):
        return f"{before}={_word(value)}"
    if re.match(r"(?:~[\w.-]*|\.{1,2})?/", word):
        return _last(word)
    return without_paths(word)


def _without_variant(word: str) -> tuple[str, str]:
    """A word of a command line without the options that its kernel's guest is given, and these. It
    may be a stranger's."""
    try:
        bare, variant = split(word)
    except InputError:
        return word, ""
    return bare, suffix(variant)


def is_local(kernel: Kernel) -> bool:
    """Whether a kernel was given as a path or a machine. A commit tells anybody which kernel it is,
    also with patches from a folder."""
    return "/" in kernel.spec and not kernel.spec.startswith(("git:", "debian:"))


def recorded(manifest: Manifest) -> list[str]:
    """The command line of a recording: a kernel that was given as a path or a machine is named by
    its release, the workload by its file's name."""
    workload = manifest.workload
    kernels = {one.spec: one for one in manifest.kernels if is_local(one)}
    if workload.kind == "imported":
        kernels = {}
    found = []
    words = list(manifest.command)
    end = words.index("--") if "--" in words else len(words)
    for number, written in enumerate(words):
        option = words[number - 1] if 0 < number < end else ""
        # What a shard lacked, others recorded.
        of_shard = option == "--shard" or written.partition("=")[0] == "--shard"
        if not manifest.shard and number < end and of_shard:
            continue
        if option in _VERBATIM or (number < end and written.startswith(_VERBATIM_SET)):
            found.append(written)
            continue
        if option == "--variant":
            found.append(_program(written, words))
            continue
        if option == "--file" or (number < end and written.startswith("--file=")):
            source, colon, place = written.partition(":")
            found.append(f"{_word(source)}{colon}{place}")
            continue
        # --kernel LABEL=SPEC, --kernel=LABEL=SPEC, --kernel SPEC; what its guest is given stays.
        word, given = _without_variant(written)
        start = next((len(word) - len(spec) for spec in kernels if word.endswith(spec)), None)
        if start is not None and (start == 0 or word[start - 1] == "="):
            kernel = kernels[word[start:]]
            found.append(f"{word[:start]}{kernel.release or kernel.label}{given}")
        elif word in workload.argv[:1] and PurePosixPath(word).parent != PurePosixPath():
            found.append(PurePosixPath(word).name)
        elif git := _GIT.fullmatch(word):
            found.append(f"{git[1]}{_word(git[2])}{git[3] or ''}{without_paths(git[4])}{given}")
        elif number > end and word.startswith(_SYSTEM):
            found.append(written)
        else:
            found.append(f"{_word(word)}{given}")
    return found


def _program(word: str, words: Sequence[str]) -> str:
    """A variant by its file's name; with its folder's, where another one has that name too."""
    path = PurePosixPath(word.partition("=")[2])
    name = f"/{path.name}"
    if path.is_absolute() and sum(other.endswith(name) for other in words) > 1:
        return f"{word.partition('=')[0]}={path.parent.name}{name}"
    return _word(word)


_BUILD_ID = 12
_MAX_VALUES, _OPTIONS = 4, 5
# Notes that a reader needs to judge counts, and values that scatter.
_COUNTS = ("iterations", "remark", "scaled", "whole", "ticks")
_SCATTER = ("boots", "machine", "varied", "remark", "scaled", "whole", "rule", "p", "floor")
# What decides most about a machine (evidence.md's state: processor, THP, NUMA balancing ...), as
# environment.sh names it, and as people do.
_MACHINE = {
    "processor": "processor",
    "cpus": "CPUs",
    "hypervisor": "virtual machine",
    "governor": "governor",
    "smt": "SMT",
    "transparent_hugepage": "THP",
    "numa_balancing": "NUMA balancing",
}


def section(
    findings: Findings, kernel: str, largest: LargestChange | None, *, with_machine: bool = True
) -> Section:
    """Workload, kernels, machine, how it was counted, and failed runs. ``kernel``: the label of the
    one that the mail is about; ``with_machine``: whether there is room for what it ran on."""
    lines = [f"Workload: {_workload(findings)}"]
    lines += [*_kernels(findings, kernel), *_how(findings, largest)]
    lines += _machines(findings) if with_machine else []
    lines += [*_order(findings), *_failed(findings)]
    return Section("How it was measured", [_notes(lines)])


def states(findings: Findings) -> Section:
    """What of the kernels' state was compared and is the same, and what is not known."""
    same = [line.text for line in state.lines(findings.state) if line.kind != "differs"]
    return Section("", [_notes(same[:_MAX_VALUES])] if same else [])


def state_differences(findings: Findings) -> list[Part]:
    """What of the kernels' state differs, and other cautions: who reads the result must know it
    before."""
    lines = [line.text for line in state.lines(findings.state) if line.kind == "differs"]
    labels = [kernel.label for kernel in findings.kernels]
    intended = [without_paths(line) for line in facts.intentions(findings.facts, labels)]
    lines = [*findings.foremost, *intended, *lines, *findings.cautions]
    return [_notes(_few(lines, "state difference"))] if lines else []


def config(findings: Findings, kernel: str, *, named: bool = True) -> Section:
    """The options that differ from the base's: how many, and those that can matter."""
    base = findings.kernels[0].label
    pairs = [pair for one in findings.facts.config if (pair := one.between(base, kernel))]
    asked = findings.facts.is_asked_for
    relevant = [one for one in pairs if one.relevant and not asked(one.option, base, kernel)]
    told = [
        f"{one.option} {one.values[base] or 'absent'} -> {one.values[kernel] or 'absent'}"
        for one in relevant[:_OPTIONS]
    ]
    each = f": {', '.join(told)}" if told and named else "."
    text = f"{len(pairs):,} config options differ ({base} -> {kernel})"
    line = f"{text}; {len(relevant):,} may matter{each}"
    return Section("", [_notes([line])] if pairs else [])


def _notes(lines: Sequence[str]) -> Notes:
    """Each at most six lines long. Who doubts a result looks here first, so none is left out."""
    texts = [units.ended(units.printable(line), 6 * WIDTH - 16) for line in lines]
    return Notes(texts, stays=True)


def _few(lines: Sequence[str], what: str) -> list[str]:
    more = len(lines) - _MAX_VALUES
    return [*lines[:_MAX_VALUES], *([units.counted(more, f"more {what}")] if more > 0 else [])]


def _workload(findings: Findings) -> str:
    manifest, workload = findings.manifest, findings.manifest.workload
    argv = words_without_paths(workload.argv)
    if argv:
        argv[0] = argv[0].rpartition("/")[2] or argv[0]
    plain = m.replace(manifest, workload=m.replace(workload, argv=argv))
    return recording.workload(plain, findings.setting).description


def _kernels(findings: Findings, kernel: str) -> list[str]:
    every = findings.kernels
    kernels = every
    if len(every) > _MAX_VALUES:
        kernels = [one for one in every if one.label in (every[0].label, kernel, every[-1].label)]
    compilers = list(dict.fromkeys(one.compiler for one in every))
    lines = []
    for one in kernels:
        known = [
            f"Linux {one.release}" if one.release else "release unknown",
            *([f"build id {one.build_id[:_BUILD_ID]}"] if one.build_id else []),
            *([facts.sentence(one.source)] if one.source else []),
            *([one.compiler or "compiler unknown"] if len(compilers) > 1 else []),
            *filter(None, [without_paths(facts.given(one))]),
            *(["the base"] if one is every[0] and len(every) > 1 else []),
        ]
        lines.append(f"{one.label}: {', '.join(known)}")
    lines += [f"{one.label}: {one.sentence}" for one in facts.holes(findings)[:_MAX_VALUES]]
    more = len(every) - len(kernels)
    lines += [units.counted(more, "more kernel")] if more else []
    (only,) = compilers if len(compilers) == 1 else [None]
    alike = [f"compiler: {only}"] if only else []
    aspects = facts.compared(findings.facts, every[0].label, kernel, 0)
    if findings.facts.configs or findings.facts.config_problems:
        aspects = aspects[1:]
    differ = [
        aspect.text
        for aspect in aspects
        if aspect.same is False and not (only and "comp" in aspect.text)
    ]
    return [*lines, *alike, *(f"{kernel}: {text}" for text in differ)]


def _how(findings: Findings, largest: LargestChange | None) -> list[str]:
    """How the mail's numbers were measured; the session has the other collectors."""
    collectors = [largest.result.collector] if largest else findings.manifest.collectors
    profiles = [
        comparison
        for comparison in findings.comparisons
        if comparison.runs[0].collector in collectors
    ]
    # The mail's opening says what is counted (`basis`).
    found = recording.remarks(profiles, findings.lengths, brief=True)
    told = [one.text for one in found if one.kind not in ("advice", "detail", "failure")]
    where = state.machine(findings)
    lines = [*_few(told, "remark"), *_timed(findings, collectors, where)]
    exact = largest is not None and largest.change.counted
    kinds: Sequence[str] = _COUNTS if exact else _SCATTER
    if exact and not findings.results.swept and len(findings.results.labels) < 3:
        kinds = _COUNTS[1:]  # Of the only change, the first sentence tells.
    if findings.results.every:
        lines += [note.text for note in notes.notes(findings.results) if note.kind in kinds]
    return lines


def _timed(findings: Findings, collectors: Sequence[str], where: Machine) -> Iterator[str]:
    """How those runs ran that have no profile."""
    inside = findings.manifest.boot_runs
    times = f", {inside} executions in each boot" if inside > 1 else ""
    for name in collectors:
        runs = [run for run in state.finished_runs(findings) if run.collector == name]
        if not runs or registry.collector(name).profiles:
            continue
        guest = state.guest(findings.manifest, runs, findings.setting.cpus)
        qemu, told = runs[0].qemu, ""
        if guest and qemu:
            version = units.printable(qemu.version.removeprefix("QEMU emulator "))
            how = "TCG" if where.kind == "emulator" else "KVM"
            told = f", QEMU {how} ({version}; {guest})"
        yield f"{name}: {registry.collector(name).how}{times}{told}"


def _machines(findings: Findings) -> list[str]:
    """The base's machine; what differs from it is said with the differences."""
    known = findings.facts.machines.get(findings.kernels[0].label, {})
    told = [f"{said} {known[name]}" for name, said in _MACHINE.items() if known.get(name)]
    if state.machine(findings).kind == "emulator":
        told = []  # What an emulator calls itself says nothing.
    lines = [f"machine: {', '.join(told)}"] if told else []
    line = findings.facts.command_lines.get(findings.kernels[0].label)
    return lines + ([f"kernel command line: {line}"] if line else [])


def _order(findings: Findings) -> list[str]:
    return [
        f"{collector} runs were NOT interleaved: all runs of one kernel finished before those of "
        "another began"
        for collector in state.in_blocks(findings)
    ]


def _failed(findings: Findings) -> list[str]:
    failed = [run for run in findings.manifest.runs if run.failure]
    return _few(
        [f"failed run {run.id}: {run.failure.message}" for run in failed if run.failure],
        "failed run",
    )


def basis(findings: Findings, largest: LargestChange | None) -> str:
    """What counts of an emulated guest rest on; "" for others, whose intervals and machine say
    it."""
    if state.machine(findings).kind != "emulator":
        return ""
    if largest is not None:
        collector, ops = largest.result.collector, largest.result.ops
        boots, exact = max(largest.change.boots), largest.change.counted
    elif findings.comparisons:
        first = findings.comparisons[0]
        collector, ops = first.runs[0].collector, first.ops
        boots, exact = max(repetition.runs for repetition in first.repetitions), not first.scattered
    else:
        return ""
    each = "one boot" if boots == 1 else f"{boots:,} boots"
    limits = (
        f"They say nothing about time, cycles or caches: {recording.TIME_SIGN}. Other configs have "
        "other counts."
    )
    if registry.collector(collector).kind == TRANSFERRED:
        what = "Transfers of cache lines are counted from every access to memory"
        limits = (
            "They are not times: what one costs, only hardware tells. Waiting for locks and NUMA "
            "are not covered."
        )
    elif registry.collector(collector).kind.exact:
        word = ' ("exact")' if exact else ""
        what = f"Every instruction of the workload is counted{word}, none is sampled"
    else:
        what = "The emulated guest's clock counts instructions"
    told = [f"{what}, in {each} of each kernel under QEMU's emulator."]
    if ops:
        told.append(_per_op(findings, ops))
    elif limits.startswith("They say"):
        limits = limits.replace("They say", "This says", 1)
    told.append(limits)
    return " ".join(told)


def _per_op(findings: Findings, ops: int) -> str:
    """How counts per op are made, and what an op is where nobody said it by --op."""
    workload, pair = findings.manifest.workload, findings.lengths
    kind = "replays" if workload.replay else "ops"
    made = f"a run of {pair.ops[1]:,} {kind} minus one of {pair.ops[0]:,}" if pair else ""
    one = "one replay of the trace" if workload.replay else "what --ops counts"
    if pair and pair.parameters:
        one = f"what {units.listed([f'{{{name}}}' for name in pair.parameters])} counts"
    told = "" if workload.op else f" ({one})"
    return f"Counts are per op{told}: {made or f'the total of {ops:,} {kind}'}, divided by {ops:,}."


def mitigations(findings: Findings) -> str:
    """``mitigations=off``, as the command line has it last; else which work."""
    lines = [findings.facts.command_lines.get(one.label) or "" for one in findings.kernels]
    found = [re.findall(r"(?:^|\s)(mitigations=\S+)", line)[-1:] for line in lines]
    # What only some were given stands beside these.
    if found[0] and all(one == found[0] for one in found):
        return units.printable(found[0][0])
    return units.printable(state.mitigations(findings.state))
