"""A report of the robot's with its explanation: as text, and as an experiment file of the recording
that answers it."""

import json
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.lkp.facts import SMALL
from profdiff.evidence.lkp.kinds import UNTOLD, Kind
from profdiff.views.lkp import Judgement, LkpDocument, Metric, Share, Test
from profdiff.views.results import time_split

KINDS: Mapping[Kind, str] = {
    "instructions": "more or other instructions",
    "lock": "a contended lock or atomic",
    "lines": "cache lines: misses, data layout, false sharing, or an atomic",
    "layout": "layout of code",
    "waiting": "waiting, wake-ups, interrupts or frequency",
    "mixed": "mixed",
    "unknown": "not known",
}
_HASH, _SUBJECT, _METRIC, _PARAMETER = 12, 80, 90, 40
# What the robot itself says of every test, or of none that matters here.
_OF_MACHINE = ("compiler", "kconfig", "rootfs", "tbox_group", "ucode", "testcase", "test")
_INDENT = 2
# The largest part of a change that is said, and further tests of a mail that are told in full.
_MOST, _OTHERS = 2, 4


def render_text(document: LkpDocument, *, width: int) -> str:
    """The reported test, and a line or two for each other one; prose in ``width`` columns."""
    first, *others = document.tests
    lines = [*_wrapped(_head(document, first), width), *_wrapped(_test(document, first), width)]
    for paragraph in _numbers(first):
        lines += ["", *_wrapped(paragraph, width)]
    if first.time is not None and first.time.value < 1:
        lines += ["", *_wrapped(_FASTER, width)]
    known = first.kinds[0].kind not in UNTOLD
    for number, judgement in enumerate(first.kinds):
        shown = document.tests[judgement.test]
        where = f" These are rows of {_name(shown)}'s table." if judgement.test else ""
        intro = "Likeliest, from these rows" if not number else "Rows also speak for"
        if number and not known:
            intro = "A candidate"
        lines += ["", *_wrapped(f"{intro}: {_judged(judgement)}{where}", width)]
        lines += [_row(shown, name) for name in judgement.metrics]
    if document.remarks:
        quoted = "; ".join(f'"{remark}"' for remark in document.remarks)
        lines += ["", *_wrapped(f"The mail itself says, which is not used here: {quoted}", width)]
    lines += ["", *_answer(first, width)]
    for other in others[:_OTHERS]:
        lines += ["", *_wrapped(f"Also {_brief(other)}", width)]
    if more := others[_OTHERS:]:
        kinds = Counter(KINDS[other.kinds[0].kind] for other in more)
        told = "; ".join(f"{kind}: {number}" for kind, number in kinds.most_common())
        lines += [
            "",
            *_wrapped(f"And {len(more)} more tests ({told}): --json FILE has all.", width),
        ]
    lines += ["", *_wrapped(_LEGEND, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_FASTER = (
    "The reported kernel is the faster one. What follows says what makes the base slower: read its "
    "rows from the reported kernel to the base."
)
_LEGEND = (
    "All numbers are the mail's own. Time is the inverse of its rate; perf-stat's rows are of the "
    "whole machine. The interval takes one standard deviation of single runs, where the mail "
    "prints it (above 2%), to either side: the mail does not say how many runs there were. Kinds "
    "are judged from these rows alone, and are guesses: for mails that the rules were not made "
    "from, 12 of 16 were right. Nobody measured anything here."
)


def _head(document: LkpDocument, test: Test) -> str:
    names = []
    for column in (test.reported, 0):
        kernel = test.kernels[column]
        revision = document.commit if column and document.commit else kernel.revision
        subject = kernel.subject or (document.commit_subject if column else "")
        told = f' ("{units.shorten(subject, _SUBJECT)}")' if subject else ""
        names.append(f"{revision[:_HASH]}{told}")
    return " against ".join(names)


def _test(document: LkpDocument, test: Test) -> str:
    more = ", ".join(
        f"{key}={units.shorten(value, _PARAMETER)}"
        for key, value in test.parameters.items()
        if key not in _OF_MACHINE
    )
    where = f" on {document.machine}" if document.machine else ""
    return f"{_name(test)}{f' ({more})' if more else ''}{where}"


def _name(test: Test) -> str:
    told = test.parameters
    return " ".join(told[key] for key in ("testcase", "test") if told.get(key)) or "a test"


def _numbers(test: Test) -> Iterator[str]:
    """What the split says."""
    if test.metric is None:
        yield "The table has no row of the workload's own, so nothing says how its time changed."
        return
    yield _changed(test)
    sentence = _sentence(test)
    if not sentence:
        yield f"How much of that instructions explain is not known: {test.doubt}."
        return
    sentence += _rest(test.share)
    yield f"It is another op on each kernel: {sentence}" if test.another_op else sentence
    if test.machine_part is not None and test.machine_part < SMALL:
        yield (
            f"The test keeps {test.machine_part:.1%} of the machine's processors busy: "
            "instructions and cycles are the whole machine's, and may not be the test's."
        )


def _rest(share: Share | None) -> str:
    """What else explains it; "" where it is not known, or where parts outweigh each other so many
    times that they explain nothing."""
    if share is None or share.cost is None or share.rest is None:
        return ""
    if max(map(abs, (share.instructions, share.cost, share.rest))) > _MOST:
        return ""
    cost, rest = time_split.part(share.cost), time_split.part(share.rest)
    return (
        f" Cycles per instruction explain {cost} of it, and time per cycle {rest}: waiting, idle "
        "processors, or the frequency."
    )


def _changed(test: Test) -> str:
    row = _metric(test, test.metric or "")
    before, after = (row.values[column] for column in (0, test.reported))
    unit = "" if row.in_points else "%"
    said = f", a{'n' if test.word[:1] == 'i' else ''} {test.word}" if test.word else ""
    return (
        f"{row.name}: {_value(before.mean)} to {_value(after.mean)} "
        f"({row.changes[test.reported - 1]:+.1f}{unit}){said}"
    )


def _sentence(test: Test) -> str:
    """The split; "" where it is not known."""
    time, instructions = test.time, test.instructions
    if time is None or instructions is None:
        return ""
    cpi = test.cycles_per_instruction
    cycles = cpi.value * instructions.value if cpi else None
    text = time_split.product(time.value, instructions.value, cycles)
    share = test.share
    if share is None:
        return f"{text}."
    told = time_split.share(share.instructions, share.low, share.high, test.doubt)
    if test.unprinted:
        told += "; the mail prints no deviation up to 2%, and this change is not much larger"
    return f"{text}: {told}."


def _judged(judgement: Judgement) -> str:
    return f"{KINDS[judgement.kind]}. {judgement.why[:1].upper()}{judgement.why[1:]}."


def _row(test: Test, name: str) -> str:
    """As the mail has it, of the base and the reported kernel."""
    row = _metric(test, name)
    before, after = (row.values[column] for column in (0, test.reported))
    unit = " " if row.in_points else "%"
    cells = [
        f"{_value(one.mean):>12}{f' ±{one.spread:4.0%}' if one.spread is not None else ' ' * 6}"
        for one in (before, after)
    ]
    change = row.changes[test.reported - 1]
    return f"{cells[0]} {change:+10.1f}{unit} {cells[1]}  {units.shorten(row.name, _METRIC)}"


def _answer(test: Test, width: int) -> list[str]:
    found = test.answer
    can = "What profdiff can answer here"
    if found.experiment is None:
        can = "What profdiff can answer, given a workload that does the same"
    lines = _wrapped(f"{can}: {found.answer}.", width)
    if found.experiment is not None:
        commands = [found.experiment.command, *(shlex.split(one) for one in found.then)]
        lines += [f"  {shlex.join(words)}" for words in commands]
    for note in found.notes:
        # What is copied from it, as a URL is, stays whole.
        wrapped = textwrap.wrap(
            units.printable(note), width - _INDENT, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"- {wrapped[0]}", *(f"  {line}" for line in wrapped[1:])]
    return lines


def _brief(test: Test) -> str:
    changed = _changed(test) if test.metric else "no row of its own"
    kind = KINDS[test.kinds[0].kind]
    return f"{_name(test)}. {changed}. {_sentence(test)} Likeliest: {kind}."


def _metric(test: Test, name: str) -> Metric:
    return next(metric for metric in test.metrics if metric.name == name)


def _value(mean: float) -> str:
    if abs(mean) >= 1e8:
        return f"{mean:.4g}"
    return f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.2f}"


def _wrapped(text: str, width: int) -> list[str]:
    return units.wrap(units.printable(text), width)


def render_experiment(document: LkpDocument) -> str:
    """TOML as docs/experiments.md has it, of the reported test. Raises InputError where profdiff
    has no workload for it, or one of the suite's cells stands for it."""
    first = document.tests[0]
    experiment = first.answer.experiment
    if experiment is None:
        raise InputError(f"--experiment: {first.answer.notes[0]}")
    if experiment.suite:
        raise InputError(
            f"--experiment: a cell of the suite {experiment.suite} stands for this test, which no "
            "experiment file names: use the command"
        )
    about = units.printable(f"{first.metric or 'a report'} of {document.subject}")
    lines = [f"# {about}"]
    # JSON's strings are basic strings of TOML, except for surrogates, which are not escaped here.
    lines += [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in experiment.options.items()
    ]
    return "\n".join(lines) + "\n"
