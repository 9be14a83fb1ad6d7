"""What is known of kernels and of how they were recorded, beside what was measured: facts, and what
they were built from."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.session import facts as session
from profdiff.session import manifest as m
from profdiff.session.kernel_config import OptionDifference
from profdiff.session.manifest import Kernel
from profdiff.views.record import Record


class Variant(Record, frozen=True):
    """``append``: boot arguments behind those of all kernels, "" for none; of the others, null is
    what all have. ``program``: what it runs where sides are programs, "" for what all run.
    ``words``: all of it, ``memory=2048M`` and so on."""

    append: str
    memory_mib: int | None
    cpus: int | None
    cpu: str | None
    program: str
    words: list[str]


def variant(kernel: Kernel) -> Variant:
    """That of a kernel."""
    one = kernel.variant
    return Variant(
        append=one.append,
        memory_mib=one.memory,
        cpus=one.cpus,
        cpu=one.cpu,
        program=one.program,
        words=one.words,
    )


_HASH = 12
# The most options of a config that a sentence names.
_OPTIONS = 3


class BuiltFrom(Record, frozen=True):
    """``commit``: of the revision that was named; ``described``: as ``git describe`` calls it.
    ``built``: the commit that was built, which has the changes. ``dirty``: with changes that
    nobody committed. ``settings``: options that were to be otherwise than in ``config``; ``lost``:
    those that are not as they were asked for. ``options``: how the SPEC says that code is made:
    ``lto=thin``. ``sentence``: all of it in words."""

    repository: str
    commit: str
    described: str
    subject: str
    tree: str
    built: str
    dirty: bool
    patches: list[str]
    reverted: list[str]
    config: str
    settings: list[str]
    compiler: str
    arch: str
    lost: list[str]
    options: list[str]
    sentence: str


class Hole(Record, frozen=True):
    """A kernel that could not be built. ``reason``: why."""

    label: str
    spec: str
    reason: str

    @property
    def sentence(self) -> str:
        """One printable line, without the label."""
        return units.printable(f"not built: {self.reason}")


def given(kernel: m.Kernel) -> str:
    """What its guest is given otherwise than those of other kernels, in words; "" for nothing. As
    ``sentence``, not printable: it is a stranger's."""
    words = kernel.variant.words
    return f"given {' '.join(words)}" if words else ""


def built_from(kernel: m.Kernel) -> BuiltFrom | None:
    """None of a kernel that profdiff did not build."""
    one = kernel.source
    if one is None:
        return None
    return BuiltFrom(
        repository=one.repository,
        commit=one.commit,
        described=one.described,
        subject=one.subject,
        tree=one.tree,
        built=one.built,
        dirty=one.dirty,
        patches=one.patches,
        reverted=one.reverted,
        config=one.config,
        settings=one.settings,
        compiler=one.compiler,
        arch=one.arch,
        lost=one.lost,
        options=one.options,
        sentence=sentence(one),
    )


def sentence(one: m.BuiltFrom) -> str:
    """``built from v6.16-3-g0123456789ab "mm: subject", dirty, with 0001-x.patch, without
    fedcba987654``: one printable line."""
    subject = f' "{one.subject}"' if one.subject else ""
    changed = [
        *(["dirty"] if one.dirty else []),
        *([f"with {', '.join(one.patches)}"] if one.patches else []),
        *([f"without {', '.join(h[:_HASH] for h in one.reverted)}"] if one.reverted else []),
        *([f"config {one.config}"] if one.config else []),
        *([f"with {units.few(one.settings, _OPTIONS)}"] if one.settings else []),
        # Its compiler's whole version stands elsewhere.
        *(option for option in one.options if not option.startswith("cc=")),
        *([f"which lacks {units.few(one.lost, _OPTIONS)}"] if one.lost else []),
    ]
    told = one.described or one.commit[:_HASH]
    return units.printable(", ".join([f"built from {told}{subject}", *changed]))


def holes(findings: Findings) -> list[Hole]:
    """The kernels of a session that could not be built, in its order."""
    return [hole(kernel) for kernel in findings.manifest.holes]


def hole(kernel: m.Kernel) -> Hole:
    """The hole that a kernel is."""
    return Hole(label=kernel.label, spec=kernel.spec, reason=kernel.hole)


_NAMED, _LONGEST = 3, 80
_Value = TypeVar("_Value")
Values = dict[str, str | None]
Shares = dict[str, Annotated[float, Meta(ge=0, le=1)]]


class Difference(Record, frozen=True):
    """``values`` by label, None where a kernel has none."""

    what: str
    values: Values


class Option(Record, frozen=True):
    """A config option that differs. ``relevant``: it can matter to costs."""

    option: str
    values: Values
    relevant: bool


class MetricShares(Record, frozen=True):
    """The parts of a metric's totals that have no function (``unresolved``) or were ``lost``, 0 to
    1, by label."""

    metric: str
    collector: str
    unresolved: Shares
    lost: Shares


class Facts(Record, frozen=True):
    """All that is known, by label. ``intended``: what each kernel was given that the base was not,
    which is none of the differences."""

    intended: dict[str, list[str]]
    differences: list[Difference]
    config: list[Option]
    config_summary: list[str]
    command_lines: dict[str, str]
    machine: dict[str, dict[str, str]]
    shares: list[MetricShares]


class Aspect(Record, frozen=True):
    """One thing that a kernel and the base may have alike. ``same``: None where it is unknown."""

    same: bool | None
    text: str


def facts(findings: Findings) -> Facts:
    """The facts of the kernels that have a result."""
    comparisons, known = findings.comparisons, findings.facts
    labels = [kernel.label for kernel in findings.kernels]
    # Other collectors may know more of the machine: only samplers ask it.
    machines = {label: dict(machine) for label, machine in known.machines.items()}
    for comparison in reversed(comparisons):
        for label, machine in comparison.facts.machines.items():
            machines.setdefault(label, {}).update(machine)
    return Facts(
        intended={
            label: words for label in labels[1:] if (words := known.intended(labels[0], label))
        },
        differences=[
            Difference(what=what, values=_of(labels, values))
            for what, values in known.differences().items()
        ],
        config=[
            Option(option=one.option, values=_of(labels, one.values), relevant=one.relevant)
            for one in known.config
        ],
        config_summary=summaries(known, labels),
        command_lines=_of(labels, known.command_lines),
        machine=_of(labels, machines),
        shares=[
            MetricShares(
                metric=comparison.metric.name,
                collector=comparison.runs[0].collector,
                unresolved=_shares(comparison),
                lost=_of(comparison.labels, comparison.facts.lost),
            )
            for comparison in comparisons
        ],
    )


def _of(labels: Sequence[str], values: Mapping[str, _Value]) -> dict[str, _Value]:
    """Values of kernels that are compared, the base's first."""
    return {label: values[label] for label in labels if label in values}


def _shares(comparison: Comparison) -> Shares:
    unresolved = comparison.unresolved_total().tolist()
    totals = comparison.totals().tolist()
    pairs = zip(comparison.labels, unresolved, totals, strict=True)
    return {label: part / whole if whole else 0.0 for label, part, whole in pairs}


def summaries(known: session.Facts, labels: Sequence[str], named: int = _NAMED) -> list[str]:
    """One line for each kernel but the base, ``labels[0]``; nothing for kernels of which nothing is
    known. ``named``: how many config options are told, not only counted. The texts come from
    recordings: units.printable is the caller's."""
    found = _differences(known, labels, named)
    return [f"{label}: {line}" if len(labels) > 2 else line for label, line in found.items()]


def grouped_summaries(known: session.Facts, labels: Sequence[str]) -> list[str]:
    """The same with one line for all kernels of which the same is to be said."""
    found = _differences(known, labels, _NAMED)
    groups: dict[str, list[str]] = {}
    for label, line in found.items():
        groups.setdefault(line, []).append(label)
    if len(groups) == 1 and len(found) == len(labels) - 1 > 1:
        return [f"every kernel: {line}" for line in groups]
    return [
        f"{', '.join(some)}: {line}" if len(labels) > 2 else line for line, some in groups.items()
    ]


def _differences(known: session.Facts, labels: Sequence[str], named: int) -> dict[str, str]:
    """What is known of each kernel but the base, in words."""
    found = {}
    for label in labels[1:]:
        aspects = compared(known, labels[0], label, named)
        intended = ", ".join(known.intended(labels[0], label))
        line = "; ".join(aspect.text for aspect in aspects)
        if aspects and all(aspect.same for aspect in aspects):
            other = "other known" if intended else "known"
            line = f"no {other} difference ({', '.join(aspect.text for aspect in aspects)})"
        if intended:
            line = "; ".join(filter(None, [f"{intended}, as intended", line]))
        if line:
            found[label] = line
    return found


def compared(known: session.Facts, base: str, label: str, named: int) -> list[Aspect]:
    """Config, compiler, command line, machine and workload relative to the base's, where they are
    known."""
    found = [
        _config(known, base, label, named),
        _compiler(known, base, label),
        _command_line(known, base, label),
        _machine(known, base, label),
        _workload(known, base, label),
    ]
    return [one for one in found if one]


def _workload(known: session.Facts, base: str, label: str) -> Aspect | None:
    """Only where it differs: a recording that tells its workload is not said to be alike."""
    both = [known.workloads.get(one, "") for one in (base, label)]
    if both[0] == both[1] or not all(both):
        return None
    told = " / ".join(units.shorten(one, _LONGEST) for one in both)
    return Aspect(same=False, text=f"workload differs: {told}")


def _config(known: session.Facts, base: str, label: str, named: int) -> Aspect | None:
    for one in (base, label):
        if problem := known.config_problems.get(one):
            return Aspect(same=None, text=f"config of {one}: {problem}")
    unknown = [one for one in (base, label) if one not in known.configs]
    if unknown:
        # Nothing at all is known of imported text: silence says as much.
        text = f"config of {' and '.join(unknown)} unknown"
        return Aspect(same=None, text=text) if known.configs else None
    found = [pair for one in known.config if (pair := one.between(base, label))]
    if not found:
        return Aspect(same=True, text="same config")
    differ = sum(one.everywhere for one in found)
    # What follows from what was asked for is told as that.
    relevant = [
        one for one in found if one.relevant and not known.is_asked_for(one.option, base, label)
    ]
    told = f"config: {differ:,} option{' differs' if differ == 1 else 's differ'}"
    if len(found) > differ:
        told += f", {len(found) - differ:,} in one config only"
    first = [_option(one, base, label) for one in relevant[:named]]
    more = [f"{len(relevant) - named:,} more"] if len(relevant) > named else []
    count = f"{len(relevant):,}" if relevant else "none"
    which = f": {', '.join(first + more)}" if first else ""
    return Aspect(same=False, text=f"{told} ({count} relevant{which})")


def _option(one: OptionDifference, base: str, label: str) -> str:
    values = [one.values[at] or "absent" for at in (base, label)]
    return f"{one.option.removeprefix('CONFIG_')} {values[0]} -> {values[1]}"


def _alike(what: str, values: Mapping[str, str], base: str, label: str) -> Aspect | None:
    if base not in values or label not in values:
        return None
    same = values[base] == values[label]
    return Aspect(same=same, text=f"same {what}" if same else f"{what} differs")


def _compiler(known: session.Facts, base: str, label: str) -> Aspect | None:
    """But for one that was to differ."""
    both = base in known.compilers and label in known.compilers
    if both and known.compilers[base] != known.compilers[label]:
        differs = known.compiler_differs(base, label)
        return Aspect(same=False, text="compiler differs") if differs else None
    return _alike("compiler", known.compilers, base, label)


def _command_line(known: session.Facts, base: str, label: str) -> Aspect | None:
    """But for what was to differ."""
    lines = {one: known.plain_line(one) for one in (base, label) if one in known.command_lines}
    what = "command line otherwise" if known.intended(base, label) else "command line"
    return _alike(what, lines, base, label)


def intentions(known: session.Facts, labels: Sequence[str]) -> list[str]:
    """What kernels were to differ from the base in, a sentence for each; none where nobody asked
    for a difference."""
    found = {one: ", ".join(known.intended(labels[0], one)) for one in labels[1:]}
    return [f"{label} differs in: {words}" for label, words in found.items() if words]


def _machine(known: session.Facts, base: str, label: str) -> Aspect | None:
    if base not in known.machines or label not in known.machines:
        return None
    names = list(known.machine_differences([base, label]))
    if not names:
        return Aspect(same=True, text="same machine")
    verb = "differs" if len(names) == 1 else "differ"
    return Aspect(same=False, text=f"machine: {units.few(names, _NAMED, last=', ')} {verb}")
