"""A sweep's points in the page: what the report says otherwise at each, as far as bytes allow."""

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.reports import documents
from profdiff.reports.page.records import Point, compressed
from profdiff.session import points
from profdiff.session.held import ARCHITECTURE, PartKind
from profdiff.session.points import Setting
from profdiff.views.claims.claim import headlines
from profdiff.views.document import Document
from profdiff.views.results import recording
from profdiff.views.results.recording import heading

# Points whose functions a page holds, the chosen one included.
MOST = 12
# What each of the others may add, in bytes of compressed JSON.
ROOM = 250_000
# Points that are named at all; a sweep may have thousands.
_NAMED = 500

Holds = Literal["stacks", "functions", "nothing"]


def page_points(findings: Findings, shown: Document, others: Iterable[Findings]) -> list[Point]:
    """Every point of a session in its order. Nothing for a session of one point, or without
    functions."""
    every = points.settings(findings.manifest)
    held = _all_held(findings, shown, others)
    if len(every) < 2 or all(holds == "nothing" for holds, _ in held.values()):
        return []
    return [_point(findings, one, held, "") for one in _named(findings, every)]


def part_points(
    findings: Findings,
    shown: Document,
    others: Iterable[Findings],
    kind: PartKind,
    name: str,
    *,
    own: bool,
) -> list[Point]:
    """The points of one of several parts, at least the one that is shown; ``own``: whether that is
    the page's."""
    held = _all_held(findings, shown, others)
    every = _named(findings, points.settings(findings.manifest))
    made = [_point(findings, one, held, name, kind) for one in every]
    # Timed runs have no functions that a page could lack.
    timed = not any(
        registry.collector(collector).profiles for collector in findings.manifest.collectors
    )
    return [
        msgspec.structs.replace(one, own=one.own and own, holds="stacks" if timed else one.holds)
        for one in made
    ]


_Held = dict[int, tuple[Holds, dict[str, Any]]]


def _all_held(findings: Findings, shown: Document, others: Iterable[Findings]) -> _Held:
    """What the page holds of points, and what is otherwise there; by point."""
    usual = msgspec.to_builtins(shown)
    held = {other.setting.point: _held(other, usual) for other in others}
    held[findings.setting.point] = ("stacks" if shown.metrics else "nothing", {})
    return held


def _named(findings: Findings, every: Sequence[Setting]) -> Sequence[Setting]:
    """The settings that the page names."""
    first = next(n for n, one in enumerate(every) if one.point == findings.setting.point)
    start = max(0, min(first - _NAMED // 2, len(every) - _NAMED))
    return every[start : start + _NAMED]


def _point(
    findings: Findings, one: Setting, held: _Held, part: str, kind: PartKind = ARCHITECTURE
) -> Point:
    """``part``: "" where there is one only; ``kind``: what parts differ by."""
    own = one.point == findings.setting.point
    holds, report = held.get(one.point) or ("nothing", _results(findings, one))
    at = ",".join(f"{name}={one.value(name)}" for name in one.varied)
    session = f"SESSION/{part}" if part else "SESSION"
    words = [f"--at {shlex.quote(at)}"] if at else []
    # The page's own point is what annotate takes, too, unless there are several parts.
    of_code = words if part or not own else []
    return Point(
        at=",".join(filter(None, [f"{kind.name}={part}" if part else "", at])),
        command=" ".join(["profdiff report", session, *words, "--html"]),
        annotate=" ".join(["profdiff annotate", session, *of_code, "FUNCTION"]),
        title=", ".join(filter(None, [part, one.title])),
        setting=one.title,
        part=part,
        own=own,
        holds=holds,
        report=report,
    )


def nearest(every: Sequence[Setting], chosen: Setting, most: int = MOST) -> list[Setting]:
    """The other points that are nearest to the chosen one in the session's order."""
    place = next(n for n, one in enumerate(every) if one.point == chosen.point)
    others = [(abs(n - place), n) for n in range(len(every)) if n != place]
    return [every[n] for _, n in sorted(others)[: most - 1]]


def _held(findings: Findings, usual: dict[str, Any]) -> tuple[Holds, dict[str, Any]]:
    """All of a point if there is room for it, or without its stacks, or its results alone."""
    nothing = _results(findings, findings.setting)
    if not findings.comparisons:
        return "nothing", nothing
    built = msgspec.to_builtins(documents.session_document(findings))
    report = {name: value for name, value in built.items() if value != usual[name]}
    # The page shows tables of results, not the results.
    if "experiment" in report:
        report["experiment"]["results"] = []
    if _size(report) <= ROOM:
        return "stacks", report
    report = without_stacks(report)
    return ("functions", report) if _size(report) <= ROOM else ("nothing", nothing)


def _results(findings: Findings, setting: Setting) -> dict[str, Any]:
    """What is known of a point without its recordings."""
    workload = recording.workload(findings.manifest, setting)
    return {
        "heading": heading(replace(findings, setting=setting, comparisons=[])),
        "answers": headlines(replace(findings, setting=setting)),
        "evidence": [],
        "workload": msgspec.to_builtins(workload),
        "metrics": [],
        "stacks": [],
        "sections": [],
    }


def _size(report: dict[str, Any]) -> int:
    return len(compressed(json.dumps(report, separators=(",", ":")).encode()))


def without_stacks(report: dict[str, Any]) -> dict[str, Any]:
    """Every function as a stack of its own; how often it was called is not known then."""
    metrics: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    for metric in report["metrics"]:
        stacks = report["stacks"][metric["stacks"]]
        number = len(metric["functions"]) + len(stacks["unnamed"])
        function = np.array(stacks["function"], np.int64)
        sums = {}
        for label, column in metric["counts"].items():
            sums[label] = np.zeros(number, np.int64)
            np.add.at(sums[label], function, np.array(column, np.int64))
        metrics.append(
            {
                **metric,
                "stacks": len(tables),
                "counts": {label: column.tolist() for label, column in sums.items()},
                "calls": None,
            }
        )
        tables.append(
            {
                "parent": [-1] * number,
                "function": list(range(number)),
                "unnamed": stacks["unnamed"],
                "inlined": {label: [0] * number for label in sums},
            }
        )
    return {**report, "metrics": metrics, "stacks": tables}
