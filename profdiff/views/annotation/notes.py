"""What a reader of an annotation must know, one line each."""

from collections.abc import Container, Sequence

import numpy as np

from profdiff.profile.code.alignment import AlignedPlace, KernelSide
from profdiff.profile.kept_code import Known
from profdiff.symbolization.kernel_code import KernelCode


def notes_of(
    in_kernel: bool,
    labels: Sequence[str],
    known: Sequence[Known[KernelCode]],
    sources: Container[str],
    sides: Sequence[KernelSide],
    places: Sequence[AlignedPlace],
    renamed: Sequence[str],
    left: int,
) -> list[str]:
    """The notes of a function on K kernels. ``sources``: the labels of those whose sources are
    known; ``renamed``: other functions whose code is like it; ``left``: how many places are left
    out."""
    notes = []
    for label, code, one in zip(labels, known, sides, strict=True):
        if not one.code.count.any():
            notes.append(f"{label} executed nothing of it")
        if code.part is None and in_kernel:
            notes.append(f"{label}: only code that executed is shown ({code.missing})")
    notes += [f"perhaps renamed: the code of {title} is like it" for title in renamed]
    if any(label in sources for label in labels):
        notes += [
            f"{label}: its sources are not known; its lines are matched by their code"
            for label in labels
            if label not in sources
        ]
    if not in_kernel:
        notes.append("of user space, only code that executed is shown")
    if untold := _untold_branches(sides, places):
        which = "1 branch" if untold == 1 else f"{untold:,} branches"
        who = "it" if untold == 1 else "they"
        notes.append(f"of {which} it is not known whether {who} jumped")
    if left:
        copies = "1 more copy of it is" if left == 1 else f"{left} more copies of it are"
        notes.append(f"{copies} left out")
    return notes


def _untold_branches(sides: Sequence[KernelSide], places: Sequence[AlignedPlace]) -> int:
    """How many rows have a conditional branch that some kernel executed without telling where
    it then went."""
    unknown = []
    for one in sides:
        code = one.code
        untold = np.zeros(len(code), np.int64) if code.untold is None else code.untold
        unknown.append((untold != 0) & (code.count != 0) & one.decoded.conditional)
    number = 0
    for place in places:
        rows = [
            (members >= 0) & known[np.maximum(members, 0)]
            for members, known in zip(place.rows.T, unknown, strict=True)
            if len(known)
        ]
        number += int(np.any(rows, axis=0).sum())
    return number
