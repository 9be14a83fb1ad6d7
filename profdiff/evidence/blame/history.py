"""What a repository says of the lines that two kernels executed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from profdiff.evidence.blame.attribution import Line, LineOrigins, Place
from profdiff.profile.addresses import Addresses
from profdiff.sources.repository import Repository, SameLines, Trace
from profdiff.sources.sources import declares

# How far to look for what a line was among those replaced together, and how similar it must be.
_LONGEST, _ALIKE = 40, 0.5


@dataclass(frozen=True)
class Side:
    """One kernel's executed lines, and its revision: a full hash."""

    lines: Sequence[Line]
    revision: str
    addresses: Addresses

    def places(self, unresolved: frozenset[int]) -> set[Place]:
        """The lines that the debug information names, those of inlined calls among them."""
        executed = {
            (one.file, one.line)
            for one in self.lines
            if one.line and one.function not in unresolved
        }
        chains = self.addresses.chains
        outer = np.ones(len(chains.frames), np.bool_)
        outer[chains.offsets[1:][np.diff(chains.offsets) > 0] - 1] = False
        rows = np.unique(chains.frames[outer])
        files, lines = chains.frame_file[rows].tolist(), chains.frame_line[rows].tolist()
        named = zip(files, lines, strict=True)
        return executed | {(chains.strings[file], line) for file, line in named if file and line}


@dataclass(frozen=True)
class History:
    """``same``: lines of the base with the line of the new kernel that is the same one. ``texts``:
    of both revisions, the files that are in the repository, as lines. ``strange``: files of both
    that are not those that the kernel was built from. ``together``: commits with those that changed
    the same lines before or after them."""

    same: Mapping[Place, Place]
    before: LineOrigins
    after: LineOrigins
    texts: tuple[Mapping[str, list[bytes]], Mapping[str, list[bytes]]]
    strange: tuple[list[str], list[str]]
    together: Mapping[str, frozenset[str]]


def history(repository: Repository, base: Side, new: Side, unresolved: frozenset[int]) -> History:
    """Ask git, in few processes. Raises what `Repository` does."""
    places = base.places(unresolved), new.places(unresolved)
    texts, strange = [], []
    for side, own in zip((base, new), places, strict=True):
        found = repository.files(side.revision, sorted({file for file, _ in own}))
        lines = {file: data.splitlines() for file, data in found.items()}
        texts.append(lines)
        short = {file for file, line in own if file in lines and line > len(lines[file])}
        strange.append(sorted(short | _strange(lines, side.addresses)))
    # What became of a line is not known where either side's file is of another version.
    odd = {*strange[0], *strange[1]}
    known = [
        {(file, line) for file, line in own if file in lines and file not in odd}
        for own, lines in zip(places, texts, strict=True)
    ]
    files = sorted({file for own in known for file, _ in own})
    paired = repository.same_lines(base.revision, new.revision, files)
    same: dict[Place, Place] = {}
    added, removed = [], []
    for place in sorted(known[0]):
        if (other := paired.in_new(*place)) is not None:
            same[place] = other
        else:
            removed.append(place)
    back = set(same.values())
    for place in sorted(known[1] - back):
        if (other := paired.in_base(*place)) is not None:
            same[other] = place
        else:
            added.append(place)
    traced = repository.trace(base.revision, new.revision, added, removed, paired)
    for mine, theirs in sorted(traced.moved.items()):
        if theirs not in same and mine not in back:
            same[theirs] = mine
    return History(
        {theirs: mine for theirs, mine in same.items() if mine[0] not in odd},
        LineOrigins(_lengths(texts[0], odd), traced.removed),
        LineOrigins(_lengths(texts[1], odd), traced.added),
        (texts[0], texts[1]),
        (strange[0], strange[1]),
        _together(paired, traced, texts),
    )


def _together(
    paired: SameLines, traced: Trace, texts: Sequence[Mapping[str, list[bytes]]]
) -> dict[str, frozenset[str]]:
    """If one commit changed a line and another one changed it again, git names the first for the
    base's, and the last for what is there now."""
    found: dict[str, set[str]] = {}
    for (file, line), last in traced.added.items():
        came = paired.added(file, line)
        before, behind = paired.in_base(file, came.start - 1), paired.in_base(file, came.stop)
        if before is not None:
            name, at = before[0], before[1] + 1
        elif behind is not None:
            name, at = behind[0], behind[1] - 1
        else:
            continue
        gone = paired.removed(name, at)[:_LONGEST]
        whole = texts[0].get(name, ())
        rows = {number: text for number in gone for text in whole[number - 1 : number]}
        was = _nearest(texts[1][file][line - 1], rows)
        first = traced.removed.get((name, was), last)
        if first != last:
            found.setdefault(first, set()).add(last)
            found.setdefault(last, set()).add(first)
    return {commit: frozenset(others) for commit, others in found.items()}


def _nearest(text: bytes, rows: Mapping[int, bytes]) -> int:
    """Which of ``rows`` looks most like a line; 0 if none does."""
    wanted = text.decode(errors="replace").split()
    ratios = {
        SequenceMatcher(
            None, " ".join(wanted), " ".join(row.decode(errors="replace").split())
        ).ratio(): number
        for number, row in rows.items()
    }
    best = max(ratios, default=0.0)
    return ratios[best] if best >= _ALIKE else 0


def _lengths(texts: Mapping[str, list[bytes]], strange: Collection[str]) -> dict[str, int]:
    """No line is known in files of another version."""
    return {file: 0 if file in strange else len(lines) for file, lines in texts.items()}


def _strange(texts: Mapping[str, list[bytes]], addresses: Addresses) -> set[str]:
    """The files whose functions are not where the debug information has them."""
    right: dict[str, list[bool]] = {}
    chains = addresses.chains
    for row in np.unique(chains.frame_function[chains.frames]).tolist():
        file, line = chains.function_file[row], int(chains.function_line[row])
        name = chains.strings[chains.function_name[row]]
        lines = texts.get(chains.strings[file])
        if lines is not None and line:
            found = declares(lines, name, line)
            right.setdefault(chains.strings[file], []).append(found)
    return {file for file, told in right.items() if 2 * sum(told) < len(told)}
