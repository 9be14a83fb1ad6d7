"""The change of several parts in sentences: of the experiment, and of functions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from profdiff.base import units
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.parts import PartsMetric, PartsResults, PartsSetting
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.session.held import LABEL, PartKind
from profdiff.views.parts.functions import Extent, JointFunction, JointFunctions, KernelExtents
from profdiff.views.record import Record
from profdiff.views.results import result
from profdiff.views.results.result import Delta


def alike(
    told: Mapping[str, Sequence[str]], missing: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """What is told of all parts, from what is told of each, in the order of the first;
    and the rest with the part's name before it, then why others are ``missing``."""
    first, *others = told.values()
    same = [text for text in first if all(text in some for some in others)]
    own = [f"{name}: {text}" for name, some in told.items() for text in some if text not in same]
    return same, [*own, *(f"{name}: {why}" for name, why in missing.items())]


Direction = Literal["more", "less", "unchanged", "unsure"]
_VALUES = 4
# A release without its flavour: 6.1.0-50 of 6.1.0-50-cloud-arm64, 6.12.95+deb12.
_VERSION = re.compile(r"\d[\d.]*(-rc\d+)?(\+[\w.~]+)?(-\d+(?=-|$))?")


class PartsClaim(Record, frozen=True):
    """``sentence``: of the setting; ``once``: of which parts it was seen in one state, "" for none;
    ``unlike``: which label has kernels of different versions, "" where none has; ``over``: of all
    settings, "" where there is one only; ``subject``: of a mail."""

    sentence: str
    once: str
    unlike: str
    over: str
    subject: str

    @property
    def sentences(self) -> list[str]:
        """All."""
        return [self.sentence, *self.more]

    @property
    def more(self) -> list[str]:
        """What is behind the first."""
        return [text for text in (self.once, self.unlike, self.over) if text]


class _Seen(NamedTuple):
    """The change of one part at one setting; ``where``: ``on arm64``."""

    part: str
    where: str
    setting: PartsSetting
    change: Estimate

    @property
    def direction(self) -> Direction:
        match self.change.verdict:
            case Verdict.UNSURE | Verdict.DEPENDS:
                return "unsure"
            case Verdict.UNCHANGED:
                return "unchanged"
        base, other = self.change.medians
        return "unchanged" if base == other else "more" if other > base else "less"

    @property
    def amount(self) -> Delta:
        base, other = self.change.medians
        return Delta(base=base, other=other)

    @property
    def told(self) -> str:
        """``+33.0% on arm64``."""
        iterated = Iterated.of(self.change)
        but = f" ({iterated.briefly})" if iterated else ""
        match self.direction:
            case "unchanged":
                return f"unchanged{but} {self.where}"
            case "unsure":
                return f"{self.amount} ({self.change.verdict}){but} {self.where}"
        return f"{self.amount}{but} {self.where}"


def parts_claim(
    joint: PartsResults, setting: PartsSetting, names: Sequence[str], workload: str = ""
) -> PartsClaim | None:
    """The claim about the metric and kernel with the largest change at a setting; None where
    nothing can be compared there. ``names``: the parts in order; ``workload``: what is measured,
    where nothing else says it."""
    found = joint.largest(setting)
    if found is None:
        return None
    one = found.change.result
    metric = PartsMetric.of(one)
    label = joint.parts[found.part].labels[found.change.kernel]
    every = _seen(joint, metric, label, names)
    here = [seen for seen in every if seen.setting is setting]
    told = [seen.told for seen in here]
    told += [
        f"no result {joint.kind.at(name)}"
        for name in names
        if all(seen.part != name for seen in here)
    ]
    at = f" at {setting.title}" if setting.title else ""
    of = f" of {workload}" if workload else ""
    what = f"{result.title(one)}{of}, {label} against {joint.labels[0]}{at}"
    listed = ", ".join(told)
    unlike = _unlike(joint, list(dict.fromkeys([joint.labels[0], label])))
    # Labels are of different kernels.
    one_change = not unlike and joint.kind is not LABEL
    alone = [seen.part for seen in here if seen.change.alone]
    once = ""
    if alone:
        once = f"The change {joint.kind.at(units.listed(alone))} was seen in one state."
    return PartsClaim(
        sentence=units.printable(f"{_lead(here, joint.kind, one_change)}: {listed} ({what})."),
        once=units.printable(once),
        unlike=units.printable(unlike),
        over=units.printable(_over(joint, every)),
        subject=units.printable(
            f"{result.title(one)} {listed}{' (seen in one state)' if alone else ''}"
        ),
    )


def _lead(here: Sequence[_Seen], kind: PartKind, one_change: bool) -> str:
    """What the changes have in common. ``one_change``: they are of the same kernels."""
    directions = [seen.direction for seen in here]
    change = "The same change" if one_change else "The change"
    if unsure := [seen.part for seen in here if seen.direction == "unsure"]:
        return f"{change}, not certain {kind.at(units.listed(unsure))}"
    if len(here) < 2:
        return f"The change {kind.word} one {kind.name} alone"
    if set(directions) == {"unchanged"}:
        return f"No change {kind.word} any {kind.name}"
    if "unchanged" in directions:
        return f"A change {kind.word} some {kind.plural}, none {kind.word} others"
    if len(set(directions)) > 1:
        return f"{change}, in different directions"
    return change


def _unlike(joint: PartsResults, labels: Sequence[str]) -> str:
    """Which of the compared labels has kernels of different versions: their change is not the same
    one of each part."""
    told = []
    for label in labels if joint.kind is not LABEL else ():
        versions = {
            name: found[0]
            for name, results in joint.parts.items()
            for kernel in results.kernels
            if kernel.label == label and (found := _VERSION.match(kernel.release or ""))
        }
        if len(set(versions.values())) > 1:
            listed = units.listed(
                f"{version} {joint.kind.at(name)}" for name, version in versions.items()
            )
            told.append(f"{label} is {listed}")
    return f"Not the same kernels: {'; '.join(told)}." if told else ""


def _seen(
    joint: PartsResults, metric: PartsMetric, label: str, names: Sequence[str]
) -> list[_Seen]:
    """At every setting of every part where it can be compared."""
    found = []
    for setting, by_part in joint.of_metric(metric):
        for name in names:
            if name in by_part:
                change = joint.parts[name].change(by_part[name], label)
                found += [_Seen(name, joint.kind.at(name), setting, change)] if change else []
    return found


def _over(joint: PartsResults, every: Sequence[_Seen]) -> str:
    """At which settings there is more, and at which less: by the values of one parameter, where
    that tells them apart for all parts."""
    if len(joint.settings) < 2:
        return ""
    parameter = _deciding(joint, every)
    directions: tuple[Direction, ...] = ("more", "less", "unchanged")
    several = len({seen.direction for seen in every}) > 1
    told = []
    for direction in directions:
        some = [seen for seen in every if seen.direction == direction]
        if not some:
            continue
        where = ""
        if parameter:
            values = list(dict.fromkeys(seen.setting.value(parameter) for seen in some))
            where = f" at {parameter} {units.few(values, _VALUES)}"
        told.append(f"{direction}{where} ({_ranges(some, counted=several and not parameter)})")
    unsure = sum(seen.direction == "unsure" for seen in every)
    told += [f"unsure in {unsure:,} of {len(every):,}"] if unsure else []
    return f"Over all points: {'; '.join(told)}." if told else ""


def _deciding(joint: PartsResults, every: Sequence[_Seen]) -> str:
    """The parameter whose value alone tells in which direction everything changes; "" where none
    does, or all goes one way."""
    for name in joint.swept:
        directions: dict[str, set[Direction]] = {}
        for seen in every:
            directions.setdefault(seen.setting.value(name), set()).add(seen.direction)
        alone = all(len(some) == 1 for some in directions.values())
        if alone and len(set.union(*directions.values())) > 1:
            return name
    return ""


def _ranges(some: Sequence[_Seen], *, counted: bool) -> str:
    """From the least to the most of each part."""
    told = []
    for name in dict.fromkeys(seen.part for seen in some):
        mine = sorted(
            (seen for seen in some if seen.part == name),
            key=lambda seen: _ratio(seen.change),
        )
        low, high = str(mine[0].amount), str(mine[-1].amount)
        span = low if low == high else f"{low} to {high}"
        number = f" at {len(mine):,}" if counted else ""
        told.append(f"{span} {mine[0].where}{number}")
    return ", ".join(told)


def _ratio(change: Estimate) -> float:
    base, other = change.medians
    return other / base if base > 0 else float("inf")


_NAMES = 3
_LEADS: Mapping[Extent, str] = {
    "all": "Under all{} compilers",
    "one": "Only or mostly under one{} compiler, so that compiler's code and not the algorithm",
    "some": "Only or mostly under some{} compilers",
    "elsewhere": "No code under the other{} compilers, which may have it in other functions",
    "opposed": "More under some{} compilers and less under others",
    "unsure": "Not certain under all{} compilers",
}


def under(found: JointFunctions) -> str:
    """What a column of these words means; "" where there is none."""
    if not found.extents:
        return ""
    missing = list(dict.fromkeys(name for extent in found.extents for name in extent.unmeasured))
    lacks = f", of those that were measured (not {', '.join(missing)})" if missing else ""
    return f"changed under: the compilers under which the function's own count differs{lacks}"


def function_sentences(found: JointFunctions) -> list[str]:
    """A sentence for each extent that functions have, on each kernel but the base; none for
    architectures, and where nothing changed. Names are those of ``rows``."""
    several = len(found.extents) > 1
    return [
        units.printable(f"{f'{extent.kernel}: ' if several else ''}{text}")
        for extent in found.extents
        for text in _of_kernel(found, extent)
    ]


def _of_kernel(found: JointFunctions, one: KernelExtents) -> Iterator[str]:
    for extent, lead in _LEADS.items():
        number = one.functions.get(extent, 0)
        if not number:
            continue
        rows = [row for row in found.rows if row.verdicts[one.kernel].extent == extent]
        names = [_named(row, one.kernel, extent) for row in rows[:_NAMES]]
        more = number - len(names)
        names += [f"{more:,} more" if names else _functions(more)] if more else []
        of = [
            f"{units.percent(shares.get(extent, 0.0))} under {part}"
            for part, shares in one.shares.items()
        ]
        measured = lead.format(" measured" if one.unmeasured else "")
        yield f"{measured}: {units.listed(names)} (of what differs: {', '.join(of)})."
    if one.unmeasured and one.functions:
        yield f"Not measured under {units.listed(one.unmeasured)}."


def _named(row: JointFunction, kernel: str, extent: Extent) -> str:
    verdict = row.verdicts[kernel]
    if extent not in ("one", "some", "elsewhere"):
        return row.title
    hardly = f"; hardly under {units.listed(verdict.hardly)}" if verdict.hardly else ""
    return f"{row.title} ({', '.join(verdict.under)}{hardly})"


def _functions(number: int) -> str:
    return units.counted(number, "function")
