"""Firefox Profiler's *processed profile format*, version 55.

Described in its repository: docs-developer/processed-profile-format.md, src/types/profile.ts and
docs-developer/CHANGELOG-formats.md. Newer ones of the profiler upgrade it when they load it.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from profdiff import __version__
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.stacks import FrameName, described, frame_names

_CATEGORIES = [("Other", "grey"), ("User", "yellow"), ("Kernel", "orange")]


def render(comparisons: Sequence[Comparison]) -> bytes:
    """A thread for each kernel and metric, a sample for each stack, whose weight is its count
    (milliseconds for clocks). Inlined frames have the depth of the inlining."""
    threads = [
        _thread(comparison, kernel, number)
        for number, (comparison, kernel) in enumerate(
            (one, kernel) for one in comparisons for kernel in range(len(one.labels))
        )
    ]
    document = {
        "meta": {
            "version": 24,
            "preprocessedProfileVersion": 55,
            "interval": 1,
            "startTime": 0,
            "processType": 0,
            "product": f"profdiff: {described(comparisons)}",
            "importedFrom": f"profdiff {__version__}",
            "debug": False,
            "symbolicated": True,
            "sourceCodeIsNotOnSearchfox": True,
            "usesOnlyOneStackType": True,
            "doesNotUseFrameImplementation": True,
            "categories": [
                {"name": name, "color": color, "subcategories": ["Other"]}
                for name, color in _CATEGORIES
            ],
            "markerSchema": [],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        },
        "libs": [],
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "threads": threads,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _thread(comparison: Comparison, kernel: int, number: int) -> dict[str, Any]:
    names = frame_names(comparison)
    strings: dict[str, int] = {}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    objects = sorted({one.object for one in names})
    resources = {name: index for index, name in enumerate(objects)}
    functions = {
        "name": [string(one.name) for one in names],
        "isJS": [False] * len(names),
        "relevantForJS": [False] * len(names),
        "resource": [resources[one.object] for one in names],
        "fileName": [string(one.file) if one.file else None for one in names],
        "lineNumber": [one.line or None for one in names],
        "columnNumber": [None] * len(names),
    }
    stacks = comparison.stacks
    inlined = comparison.inlined[:, kernel].tolist()
    depth: list[int] = []
    for parent, is_inlined in zip(stacks.parent.tolist(), inlined, strict=True):
        depth.append(depth[parent] + 1 if is_inlined and parent >= 0 else 0)
    # A frame is a function at a depth of inlining.
    frame_of: dict[tuple[int, int], int] = {}
    pairs = zip(stacks.function.tolist(), depth, strict=True)
    stack_frames = [frame_of.setdefault(pair, len(frame_of)) for pair in pairs]
    # Weights below zero, which two lengths can give, would be no time line.
    counts = np.maximum(comparison.counts[:, kernel], 0)
    rows = np.flatnonzero(counts).tolist()
    clock = comparison.metric.unit == "ns"
    label = comparison.labels[kernel]
    return {
        "name": f"{label}: {comparison.metric.title}",
        "processName": label,
        "processType": "default",
        "isMainThread": True,
        "pid": str(number + 1),
        "tid": str(number + 1),
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": False,
        "frameTable": _frames(names, list(frame_of)),
        "funcTable": {"length": len(names), **functions},
        "nativeSymbols": _empty("address", "functionSize", "libIndex", "name"),
        "resourceTable": {
            "length": len(objects),
            "lib": [None] * len(objects),
            "name": [string(name or "unresolved") for name in objects],
            "host": [None] * len(objects),
            "type": [1] * len(objects),
        },
        "markers": _empty("category", "data", "endTime", "name", "phase", "startTime"),
        "stackTable": {
            "length": len(stacks),
            "prefix": [parent if parent >= 0 else None for parent in stacks.parent.tolist()],
            "frame": stack_frames,
        },
        "samples": {
            "length": len(rows),
            "weightType": "tracing-ms" if clock else "samples",
            "stack": rows,
            "timeDeltas": [0 if row == 0 else 1 for row in range(len(rows))],
            "weight": [count / 1e6 if clock else count for count in counts[rows].tolist()],
        },
        "stringArray": list(strings),
    }


def _frames(names: Sequence[FrameName], frames: Sequence[tuple[int, int]]) -> dict[str, Any]:
    nothing = [None] * len(frames)
    return {
        "length": len(frames),
        "address": [-1] * len(frames),
        "inlineDepth": [depth for _, depth in frames],
        "category": [2 if names[function].in_kernel else 1 for function, _ in frames],
        "subcategory": [0] * len(frames),
        "func": [function for function, _ in frames],
        "nativeSymbol": nothing,
        "innerWindowID": nothing,
        "line": nothing,
        "column": nothing,
    }


def _empty(*columns: str) -> dict[str, Any]:
    return {"length": 0, **{name: [] for name in columns}}
