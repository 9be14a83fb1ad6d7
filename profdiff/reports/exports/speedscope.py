"""speedscope's file format: https://www.speedscope.app/file-format-schema.json."""

import json
from collections.abc import Sequence

import numpy as np

from profdiff import __version__
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.stacks import LEFT_OUT, described, frame_names, stack_paths


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
        left_out = len(frames)
        paths = stack_paths(comparison.stacks, own, left_out)
        if any(left_out in path for path in paths):
            frames.append({"name": LEFT_OUT})
        for kernel, label in enumerate(comparison.labels):
            # Weights below zero, which two lengths can give, would be no time line.
            counts = np.maximum(comparison.counts[:, kernel], 0)
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
