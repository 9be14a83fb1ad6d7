"""Lines that moved: what one commit removed here and added there, as it stands in the text, and
what two files have in common."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from profdiff.sources.hunks import of_texts
from profdiff.sources.same_lines import SourceLine

# What git blame -C takes for moved: fewer letters and digits together are chance.
LETTERS = 40
# What is sought is the first line of its run that says something and stands in few others.
_MIN_LETTERS = 8
_STARTS = 8

Lines = Mapping[str, Sequence[str]]


def moves(
    added: Mapping[SourceLine, str],
    removed: Mapping[SourceLine, str],
    now: Lines,
    before: Lines,
    *,
    letters: int = LETTERS,
) -> list[tuple[SourceLine, SourceLine]]:
    """Pairs of (new, old): the same text, but for white space, added and removed by the
    same commit. ``now``, ``before``: lines of the files of both sides; ``letters``: how many
    letters and digits of a run are not a coincidence."""
    came, went = _by_commit(added, now), _by_commit(removed, before)
    found = []
    for commit in sorted(came.keys() & went.keys()):
        starts: defaultdict[str, list[SourceLine]] = defaultdict(list)
        for here, text in sorted(went[commit].items()):
            if _letters(text) >= _MIN_LETTERS:
                starts[text].append(here)
        taken: set[SourceLine] = set()
        done: set[SourceLine] = set()
        for here, text in sorted(came[commit].items()):
            if here in done or not 0 < len(starts.get(text, ())) <= _STARTS:
                continue
            runs = [_run(came[commit], here, went[commit], start, taken) for start in starts[text]]
            longest = max(runs, key=len)
            if sum(_letters(came[commit][one]) for one, _ in longest) >= letters:
                longest += _run(came[commit], here, went[commit], longest[0][1], taken, -1)[1:]
                longest = [pair for pair in longest if pair[0] not in done]
                found += longest
                done |= {one for one, _ in longest}
                taken |= {one for _, one in longest}
    return found


def _run(
    came: Mapping[SourceLine, str],
    here: SourceLine,
    went: Mapping[SourceLine, str],
    start: SourceLine,
    taken: set[SourceLine],
    step: int = 1,
) -> list[tuple[SourceLine, SourceLine]]:
    """How far the lines from both on are the same, or back from there."""
    run: list[tuple[SourceLine, SourceLine]] = []
    for i in count(0, step):
        one, other = (here[0], here[1] + i), (start[0], start[1] + i)
        if one not in came or came[one] != went.get(other) or other in taken:
            return run
        run.append((one, other))
    return run


def _by_commit(commits: Mapping[SourceLine, str], texts: Lines) -> dict[str, dict[SourceLine, str]]:
    """The text of the lines of each commit, without white space."""
    found: defaultdict[str, dict[SourceLine, str]] = defaultdict(dict)
    for (file, line), commit in commits.items():
        lines = texts.get(file, ())
        if 0 < line <= len(lines):
            found[commit][file, line] = "".join(lines[line - 1].split())
    return found


def _letters(text: str) -> int:
    """Letters and digits."""
    return sum(map(str.isalnum, text))


# What git blame -M takes for moved within a file: fewer letters and digits together are chance.
_LETTERS = 20


def matched_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """For each line of ``old`` (from 0) the line of ``new`` that is the same one, -1: none. The
    lines rise, because the diff is the one that ``same_lines`` reads. White space does not count as
    a difference. Raises MissingError without git."""
    found = np.full(len(old), -1, np.int64)
    here, there = 0, 0
    for hunk in of_texts(old, new):
        first, second = hunk.base.start - 1, hunk.new.start - 1
        found[here:first] = np.arange(there, second)
        here, there = hunk.base.stop - 1, hunk.new.stop - 1
    found[here:] = np.arange(there, len(new))
    return found


def moved_lines(old: Sequence[str], new: Sequence[str]) -> NDArray[np.int64]:
    """As ``matched_lines``, and with code that stands elsewhere, as where a function was put before
    another one."""
    found = matched_lines(old, new)
    came = np.setdiff1d(np.arange(len(new)), found)
    if not len(came):
        return found
    left = np.flatnonzero(found < 0)
    added, removed = ({("", at + 1): "" for at in some.tolist()} for some in (came, left))
    texts = {"": new}, {"": old}
    for (_, now), (_, before) in moves(added, removed, *texts, letters=_LETTERS):
        found[before - 1] = now - 1
    return found
