"""Lines that one commit removed at one place and added at another, as it stands in the text."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count

from profdiff.sources.same_lines import Place

# What git blame -C takes for moved: fewer letters and digits together are chance.
LETTERS = 40
# What is sought is the first line of its run that says something and stands at few places.
_LEAST = 8
_STARTS = 8

Lines = Mapping[str, Sequence[str]]


def moves(
    added: Mapping[Place, str], removed: Mapping[Place, str], now: Lines, before: Lines
) -> list[tuple[Place, Place]]:
    """Pairs of (new place, old place): the same text, but for white space, added and removed by the
    same commit. ``now``, ``before``: lines of the files of both sides."""
    came, went = _by_commit(added, now), _by_commit(removed, before)
    found = []
    for commit in sorted(came.keys() & went.keys()):
        starts: defaultdict[str, list[Place]] = defaultdict(list)
        for place, text in sorted(went[commit].items()):
            if _letters(text) >= _LEAST:
                starts[text].append(place)
        taken: set[Place] = set()
        done: set[Place] = set()
        for place, text in sorted(came[commit].items()):
            if place in done or not 0 < len(starts.get(text, ())) <= _STARTS:
                continue
            runs = [_run(came[commit], place, went[commit], start, taken) for start in starts[text]]
            longest = max(runs, key=len)
            if sum(_letters(came[commit][one]) for one, _ in longest) >= LETTERS:
                longest += _run(came[commit], place, went[commit], longest[0][1], taken, -1)[1:]
                longest = [pair for pair in longest if pair[0] not in done]
                found += longest
                done |= {one for one, _ in longest}
                taken |= {one for _, one in longest}
    return found


def _run(
    came: Mapping[Place, str],
    place: Place,
    went: Mapping[Place, str],
    start: Place,
    taken: set[Place],
    step: int = 1,
) -> list[tuple[Place, Place]]:
    """How far the lines from both places on are the same, or back from there."""
    run: list[tuple[Place, Place]] = []
    for i in count(0, step):
        one, other = (place[0], place[1] + i), (start[0], start[1] + i)
        if one not in came or came[one] != went.get(other) or other in taken:
            return run
        run.append((one, other))
    return run


def _by_commit(places: Mapping[Place, str], texts: Lines) -> dict[str, dict[Place, str]]:
    """The text of the places of each commit, without white space."""
    found: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    for (file, line), commit in places.items():
        lines = texts.get(file, ())
        if 0 < line <= len(lines):
            found[commit][file, line] = "".join(lines[line - 1].split())
    return found


def _letters(text: str) -> int:
    """Letters and digits."""
    return sum(map(str.isalnum, text))
