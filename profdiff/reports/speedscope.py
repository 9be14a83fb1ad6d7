"""speedscope's file format: https://www.speedscope.app/file-format-schema.json."""

import json
from collections.abc import Sequence

import numpy as np

from profdiff import __version__
from profdiff.comparison import Comparison
from profdiff.reports.frame_names import described, frame_names


def render(comparisons: Sequence[Comparison]) -> bytes:
    """A *sampled* profile for each kernel and metric; a stack's weight is its count.

    Frames are shared by all; weights of clocks are nanoseconds, others have no unit there.
    """
    frames: list[dict[str, object]] = []
    numbers: dict[tuple[object, ...], int] = {}
    profiles = []
    for comparison in comparisons:
        own = []
        for name in frame_names(comparison):
            number = numbers.setdefault(name, len(frames))
            if number == len(frames):
                place: dict[str, object] = {"file": name.file or name.object}
                place |= {"line": name.line} if name.line else {}
                frames.append({"name": name.name, **place})
            own.append(number)
        paths = _paths(comparison, own)
        for kernel, label in enumerate(comparison.labels):
            counts = comparison.counts[:, kernel]
            rows = np.flatnonzero(counts).tolist()
            profiles.append(
                {
                    "type": "sampled",
                    "name": f"{label}: {comparison.metric.title}",
                    "unit": "nanoseconds" if comparison.metric.unit == "ns" else "none",
                    "startValue": 0,
                    "endValue": int(counts.sum()),
                    "samples": [paths[row] for row in rows],
                    "weights": counts[rows].tolist(),
                }
            )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": described(comparisons),
        "exporter": f"profdiff {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": profiles,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _paths(comparison: Comparison, frames: Sequence[int]) -> list[list[int]]:
    """The frames of each stack, root first."""
    paths: list[list[int]] = []
    stacks = comparison.stacks
    for parent, function in zip(stacks.parent.tolist(), stacks.function.tolist(), strict=True):
        paths.append([*(paths[parent] if parent >= 0 else ()), frames[function]])
    return paths
