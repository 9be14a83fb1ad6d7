"""Lines that one commit removed here and added there, as it stands in the text."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count

from profdiff.sources.source_line import SourceLine

# What git blame -C takes for moved: fewer letters and digits together are chance.
LETTERS = 40
# What is sought is the first line of its run that says something and stands in few others.
_LEAST = 8
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
            if _letters(text) >= _LEAST:
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
