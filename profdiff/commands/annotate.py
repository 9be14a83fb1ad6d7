"""``profdiff annotate``: the code of a function, with what each instruction costs."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.base.near import did_you_mean
from profdiff.base.units import printable
from profdiff.commands import complete
from profdiff.commands.output import (
    ASCII,
    PER_OP,
    WIDTH,
    form_options,
    refuse_per_op,
    targets,
    with_options,
    write_forms,
)
from profdiff.commands.recording import CELL, find
from profdiff.reports.annotation.forms import FORMS
from profdiff.reports.form import Asked, Layout, Subject
from profdiff.session.held import held

if TYPE_CHECKING:
    from profdiff.profile.comparison import Comparison
    from profdiff.session.manifest import Manifest
    from profdiff.session.parts import Parts
    from profdiff.session.points import Setting
    from profdiff.session.session import Session
    from profdiff.sources.sources import Sources
    from profdiff.views.annotation.records import Annotation
    from profdiff.views.parts.annotation import JointAnnotation


class _Wanted(NamedTuple):
    """What is annotated. ``sources``: as they are given."""

    function: str
    at: str | None
    metric: str | None
    inlined_at: str | None
    labels: Sequence[str]
    sources: Sequence[str]


@click.command()
@click.argument(
    "session",
    required=False,
    metavar="[SESSION]",
    shell_complete=complete.sessions_or_functions,
)
@click.argument("function", required=False, metavar="FUNCTION", shell_complete=complete.functions)
@click.option(
    "--by",
    type=click.Choice(["instruction", "line"]),
    default="instruction",
    show_default=True,
    help="Show instructions with their source lines, or source lines alone.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="LABEL=TREE",
    shell_complete=complete.sources,
    help="Show source lines from this tree: a folder, or REPO@REV of a git repository. Once for "
    "each kernel.  [default: what profdiff built it from]",
)
@click.option(
    "--inlined-at",
    metavar="FUNCTION",
    shell_complete=complete.functions,
    help="Show only the copies that are inlined into FUNCTION, or into these in a row: 'A > B'.  "
    "[default: all copies]",
)
@click.option(
    "--kernel",
    "labels",
    multiple=True,
    metavar="LABEL",
    shell_complete=complete.every_label,
    help="Show only this kernel. Can be repeated; deltas are relative to the first.  [default: "
    "all kernels]",
)
@click.option(
    "--metric",
    metavar="[COLLECTOR:]NAME",
    shell_complete=complete.metrics,
    help="Show this metric.  [default: the first of the report]",
)
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    help="Show this point of the sweep; vCPUs=N is a parameter too.  [default: the point with the "
    "largest change]",
)
@CELL
@click.option(
    "--context",
    type=click.IntRange(0),
    metavar="N",
    help="Show N instructions, or lines, that were never executed around each that was.  "
    "[default: 2 instructions, no lines]",
)
@click.option(
    "--cold",
    is_flag=True,
    help="Show also instructions that ran less than 1% as often as the function's hottest.",
)
@click.option("--addresses", is_flag=True, help="Show the addresses of instructions.")
@click.option(
    "--side-by-side/--one-column",
    default=None,
    help="Show each kernel's code in a column of its own, or all code in one.  [default: side by "
    "side where there is room]",
)
@PER_OP
@WIDTH
@ASCII
@partial(with_options, form_options(FORMS))
def annotate(
    session: str | None,
    function: str | None,
    by: Literal["instruction", "line"],
    sources: tuple[str, ...],
    inlined_at: str | None,
    labels: tuple[str, ...],
    metric: str | None,
    at: str | None,
    cell: str | None,
    context: int | None,
    cold: bool,
    addresses: bool,
    side_by_side: bool | None,
    per_op: bool | None,
    width: int | None,
    ascii_only: bool,
    **forms: str | None,
) -> None:
    """Show the code of FUNCTION on every kernel of SESSION, as it was executed: how often each
    instruction ran, which code the kernels have in common, and which source line it is. FUNCTION is
    a name as report prints it, also of a function that is inlined. SESSION defaults to the newest
    session in this folder. With several compilers or architectures, annotate shows source lines
    with columns for each, and instructions one after the other.
    """
    from profdiff.session.parts import Parts

    folder, name = _arguments(session, function)
    recording, at = find(folder, cell, at, ["session", "parts"])
    wanted = _Wanted(name, at, metric, inlined_at, labels, sources)
    if isinstance(recording, Parts):
        made: Callable[[], Any] = partial(_of_parts, recording, wanted, per_op=per_op)
    else:
        (only,) = recording.sessions().values()
        made = partial(_of_session, only, wanted, per_op=per_op)
    layout = Layout(by, side_by_side, context, addresses, cold)
    asked = Asked(per_op=per_op, width=width, ascii_only=ascii_only, layout=layout)
    subject = Subject(recording, cache(made), asked)
    write_forms(FORMS, targets(FORMS, forms) or {"text": "-"}, subject)


def _arguments(first: str | None, second: str | None) -> tuple[Path | None, str]:
    """The session's folder, if it is named, and the function: of one word, the function."""

    def known(word: str) -> bool:
        return held(Path(word)) is not None

    if not first or second == "":
        raise InputError("name a FUNCTION: profdiff report lists them")
    if second is None and known(first):
        raise InputError(f"name a FUNCTION of it: profdiff annotate {first} FUNCTION")
    if second is None:
        return None, first
    if not known(first) and known(second):
        raise InputError(f"SESSION comes first: profdiff annotate {second} {first}")
    return Path(first), second


def _of_parts(opened: "Parts", wanted: _Wanted, *, per_op: bool | None) -> "JointAnnotation":
    """The annotation of each part at one setting. Raises as the first part does, where none has
    the function."""
    from profdiff.evidence.parts.results import PartsResults
    from profdiff.views.parts.annotation import parts_annotation

    sessions = opened.sessions()
    setting = PartsResults.gather(sessions, opened.kind).choose(wanted.at)
    found: dict[str, Annotation] = {}
    errors: dict[str, ProfdiffError] = {}
    for name, session in sessions.items():
        if name not in setting.parts:
            errors[name] = InputError("it does not have this point")
            continue
        try:
            found[name] = _found(session, wanted, setting.parts[name], per_op=per_op)
        except (InputError, SessionError) as error:
            errors[name] = error
    if not found:
        name, first = next(iter(errors.items()))
        raise type(first)(f"{name}: {first}")
    missing = {name: str(error) for name, error in errors.items()}
    missing |= {name: "not recorded yet" for name in opened.names if name not in sessions}
    return parts_annotation(opened.kind.name, list(opened.names), found, missing)


def _of_session(opened: "Session", wanted: _Wanted, *, per_op: bool | None) -> "Annotation":
    return _found(opened, wanted, _setting(opened.manifest, wanted.at), per_op=per_op)


def _found(
    opened: "Session", wanted: _Wanted, setting: "Setting", *, per_op: bool | None
) -> "Annotation":
    from msgspec.structs import replace

    from profdiff.views.annotation.making import Annotations

    comparison = _comparison(opened, wanted, setting)
    if per_op and comparison.ops is None:
        refuse_per_op()
    for label in wanted.labels:
        _check_label(f"--kernel {label}", label, comparison.labels)
    given = _trees(wanted.sources, comparison)
    own, untold = _own_trees(opened, comparison, given)
    trees = {**given, **own}
    found = Annotations(comparison, opened, trees).annotation(
        wanted.function,
        inlined_at=_place(wanted.inlined_at, wanted.function),
        labels=list(dict.fromkeys(wanted.labels)) or None,
    )
    for label, tree in given.items():
        if label in found.labels:
            _check_tree(tree, label, found)
    notes = [
        note for label, tree in trees.items() if label in found.labels and (note := tree.note())
    ]
    notes += [note for label, note in untold.items() if label in found.labels]
    return replace(found, notes=[*found.notes, *notes])


def _comparison(session: "Session", wanted: _Wanted, setting: "Setting") -> "Comparison":
    from profdiff.collectors import registry
    from profdiff.profile.recordings import Recordings
    from profdiff.session.facts import Facts

    # What differs between the kernels is shown by other commands, and reading it takes long.
    comparisons = Recordings(session, setting).comparisons(Facts())
    if not comparisons:
        able = " or ".join(name for name, one in registry.recording().items() if one.profiles)
        raise InputError(
            "annotate needs a profile, which no run of this session has: record with --collector "
            f"{able}"
        )
    if wanted.metric is None:
        return comparisons[0]
    named = {f"{one.runs[0].collector}:{one.metric.name}": one for one in comparisons}
    for name, one in named.items():
        if wanted.metric in (name, one.metric.name):
            return one
    raise InputError(f"--metric {wanted.metric}: the session has {', '.join(named)}")


def _setting(manifest: "Manifest", at: str | None) -> "Setting":
    """As report chooses it; what compares metrics is loaded only where there are several."""
    from profdiff.session import points

    known = points.settings(manifest)
    if len(known) == 1 and at is None:
        return known[0]
    from profdiff.evidence.findings import choose
    from profdiff.evidence.results import Results

    return choose(manifest, at, None if at else Results.gather(manifest))


def _trees(given: Sequence[str], comparison: "Comparison") -> "Mapping[str, Sources]":
    """The source tree of each kernel that has one."""
    if not given:
        return {}
    from profdiff.sources.sources import Sources

    trees: dict[str, Sources] = {}
    releases = {kernel.label: kernel.release for kernel in comparison.kernels}
    for text in given:
        label, equals, spec = text.partition("=")
        if not equals or not spec:
            raise InputError(f"--source {text}: write LABEL=DIR or LABEL=REPO@REV")
        _check_label(f"--source {text}", label, comparison.labels)
        if label in trees:
            raise InputError(f"--source {text}: {label} is given twice")
        trees[label] = Sources.open(label, spec)
        if release := releases[label]:
            trees[label].check_release(release)
    return trees


def _own_trees(
    opened: "Session", comparison: "Comparison", given: "Mapping[str, Sources]"
) -> "tuple[dict[str, Sources], dict[str, str]]":
    """What profdiff built the other kernels from; and why there is none, by label."""
    built = [
        (one.label, one.source)
        for one in comparison.kernels
        if one.source and one.label not in given
    ]
    if not built:
        return {}, {}
    from profdiff.recording.origin import own_repository
    from profdiff.sources.sources import Sources

    trees, untold = {}, {}
    for label, source in built:
        option = f"--source {label}=REPO@{source.built[:12]}"
        try:
            place = own_repository(opened.folder, opened.manifest, source.repository, option)
            trees[label] = Sources.of_commit(label, place, source.built)
        except InputError as error:
            untold[label] = f"{label} has no source lines: {error}"
    return trees, untold


def _check_tree(tree: "Sources", label: str, found: "Annotation") -> None:
    """Raises InputError where a folder has no file of the function: it is not a source tree, or not
    the top of one."""
    files = {line.file for line in found.lines if line.file and label in line.lines}
    known = any(tree.lines(file) is not None for file in files)
    # All files of a function may be generated; then the Makefile identifies the tree.
    if files and not known and tree.lines("Makefile") is None:
        raise InputError(
            f"--source {label}={tree.shown}: there is no {printable(min(files))} in it: name the "
            "top of the tree that the kernel was built from"
        )


def _check_label(option: str, label: str, labels: Sequence[str]) -> None:
    if label not in labels:
        near = did_you_mean(label, labels) or f"the session has {', '.join(labels)}"
        raise InputError(f"{option}: no kernel {label!r} has a result: {near}")


def _place(text: str | None, function: str) -> str | None:
    """As ``views.annotations`` names it, of what one can type; a copy's line ends with the function
    itself."""
    if text is None:
        return None
    if not text.strip():
        raise InputError("--inlined-at: name the function that it is inlined into")
    for arrow in ("->", ">"):
        text = text.replace(arrow, "→")
    first, *others = (part.strip() for part in text.split("→"))
    if others and others[-1] == function:
        others.pop()
    return "→".join([first, *others])
