"""What ``record`` says at its end: a few lines, and how to see the rest."""

import contextlib
import shlex
from collections.abc import Sequence

import numpy as np

from profdiff.base import terminal, units
from profdiff.base.errors import SessionError
from profdiff.base.terminal import read_end, short
from profdiff.evidence import huge_pages
from profdiff.evidence.cautions import cautions
from profdiff.evidence.findings import choose
from profdiff.evidence.results import Results
from profdiff.forms.columns import Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.profile.recordings import Recordings
from profdiff.profile.sharing.recorded import has_lines, is_all
from profdiff.reports.text.session import experiment_tables, in_short
from profdiff.session import inlines
from profdiff.session.manifest import Manifest, Run
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.session.state import compare_states
from profdiff.views.results.notes import iterations

_MAX_ROWS = 3
# Lines of output that a failed run shows, of so many bytes.
_SAID, _END = 3, 4096


def lines(session: Session) -> list[str]:
    """The experiment's tables, or else totals and ratios to the base; the largest deltas; failed
    runs. Raises SessionError."""
    runs = session.manifest.runs
    told = [*holes(session.manifest), *failed(runs), *printed(session, runs)]
    results = Results.gather(session.manifest)
    try:
        setting = choose(session.manifest, None, results)
        comparisons = Recordings(session, setting, results.state(setting)).comparisons()
    except SessionError:
        # The base has no result: the failed runs say why.
        return told
    told += inlines.told(session.compared) if comparisons else []
    state = compare_states(session, results.runs)
    told += huge_pages.lacking(session, comparisons[0].facts, setting, state) if comparisons else []
    told += cautions(session, setting, state)
    told += [iteration.text for iteration in iterations(results)]
    found = experiment_tables(results, setting, terminal.columns())
    found = found or [line for comparison in comparisons for line in _totals(comparison)]
    for comparison in comparisons:
        if changed := _deltas(comparison, setting, terminal.columns()):
            found += ["", *changed] if found and found[-1] else changed
    return [*found, *told]


def commands(session: Session) -> list[str]:
    """What to type next."""
    folder, manifest = shlex.quote(str(session.folder)), session.manifest
    report = [] if is_all(manifest) else [f"profdiff report {folder}"]
    return [*report, *([f"profdiff report --sharing {folder}"] if has_lines(manifest) else [])]


def holes(manifest: Manifest) -> list[str]:
    """A line for each kernel that could not be built."""
    return [
        units.printable(f"{kernel.label}: not built: {kernel.hole}") for kernel in manifest.holes
    ]


def failed(runs: Sequence[Run]) -> list[str]:
    """A line for each message of failed runs."""
    by_message: dict[str, list[Run]] = {}
    for run in runs:
        if run.failure:
            by_message.setdefault(units.printable(run.failure.message), []).append(run)
    return [_failed_alike(message, alike) for message, alike in by_message.items()]


def printed(session: Session, runs: Sequence[Run]) -> list[str]:
    """What the first run whose workload failed said last, and where its output and logs are."""
    run = next((one for one in runs if one.failed and one.folder), None)
    if run is None:
        return []
    told = []
    for what in ("stdout", "stderr"):
        with contextlib.suppress(KeyError, OSError, SessionError):
            data = read_end(session.path(run.files[what]), _END)
            said = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
            told += [f"  {what}: {short(line)}" for line in said[-_SAID:]]
    folder = session.place(run.folder)
    known = [what for what in ("stdout", "stderr", "console", "dmesg") if what in run.files]
    logs = f" ({units.listed(known)})" if known else ""
    return [*told, f"  output and logs of {run.id}: {units.printable(str(folder))}{logs}"]


def _failed_alike(message: str, runs: Sequence[Run]) -> str:
    number, first = len(runs), runs[0]
    if first.not_there:
        return f"{first.id}: {message}" if number == 1 else f"{number:,} runs: {message}"
    return (
        f"failed run {first.id}: {message}"
        if number == 1
        else f"{number:,} runs failed the same way: {message}"
    )


def _totals(comparison: Comparison) -> list[str]:
    totals = comparison.totals()
    width = max(map(len, comparison.labels))
    rows = []
    for index, label in enumerate(comparison.labels):
        ratio = f"{totals[index] / totals[0]:.3f} times {comparison.labels[0]}" if totals[0] else ""
        against = ratio if index else "the base"
        rows.append(f"{label:{width}}  {totals[index]:>15,} {comparison.metric.title}  {against}")
    return rows


def _deltas(comparison: Comparison, setting: Setting, width: int) -> list[str]:
    """For each step of a ladder with exact counts the function that changed most, or else those of
    each kernel that changed most to the base."""
    at = f" at {setting.title}" if setting.title else ""
    if found := in_short(comparison, comparison.ops, width, at):
        return [line for block in found for line in block.lines]
    numbers = Numbers(comparison.ops)
    rows: list[list[str]] = []
    for index, label in list(enumerate(comparison.labels))[1:]:
        deltas = comparison.deltas()[:, index]
        for row in np.argsort(-np.abs(deltas), kind="stable")[:_MAX_ROWS]:
            if deltas[row]:
                base, other = comparison.self_[row, [0, index]].tolist()
                name = comparison.functions[row].name
                told = numbers.delta(other - base), numbers.change(base, other)
                rows.append([label, *told, name])
    what = f"{comparison.metric.name}{' per op' if comparison.ops else ''}"
    title = f"Functions that changed most{at}, against {comparison.labels[0]} ({what}):"
    columns = [Column("kernel", name=True), Column("delta"), Column("change")]
    columns.append(Column("function", name=True))
    return [line for block in draw(title, columns, rows, width) for line in block.lines if rows]
