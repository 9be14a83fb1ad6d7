"""Names: cut to fit a table so that no two look alike, and what a mistyped one was meant to be."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from profdiff.base.units import shorten, width

_GAP = ".."


def shortened(names: Iterable[str], columns: int) -> Mapping[str, str]:
    """Each name in at most ``columns``: cut in its middle, or, where others would look like it,
    around what tells them apart; the last resort is a number (``~2``). Different names stay
    different as long as that number has room."""
    known = dict.fromkeys(names)
    cut: dict[str, str] = {}
    for group in _alike({name: shorten(name, columns) for name in known}):
        cut |= {name: shorten(name, columns) for name in group}
        if len(group) > 1:
            cut |= _apart(group, columns)
    taken = {name for name in known if cut[name] == name}
    # By text, how many look like it: a stranger's table can have very many.
    alike: Counter[str] = Counter()
    for name in known:
        text = cut[name]
        while text in taken and text != name:
            alike[cut[name]] += 1
            sign = f"~{alike[cut[name]] + 1}"
            if len(sign) + 3 > columns:
                break
            text = f"{shorten(name, columns - len(sign))}{sign}"
        cut[name] = text
        taken.add(text)
    return cut


def _alike(cut: Mapping[str, str]) -> list[list[str]]:
    """The names by what became of them."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in cut.items():
        groups[text].append(name)
    return list(groups.values())


def _apart(group: Sequence[str], columns: int) -> dict[str, str]:
    """The beginning, what differs, and the end of each; where that is too long, its first part."""
    begin, end = columns // 4, columns // 4
    room = columns - begin - end - 2 * len(_GAP)
    if room < 4:
        return {}
    same = 0
    # What the first and the last in order have in common, all have.
    for one, other in zip(min(group), max(group), strict=False):
        if one != other:
            break
        same += 1
    # A little of what stands before it, to see where it is.
    start = max(same - room // 3, 0)
    return {
        name: f"{_first(name, begin)}{_GAP}{_first(name[start:], room)}{_GAP}{_last(name, end)}"
        for name in group
    }


def _first(text: str, columns: int) -> str:
    """As much of the beginning as fits."""
    end = min(len(text), columns)
    while width(text[:end]) > columns:
        end -= 1
    return text[:end]


def _last(text: str, columns: int) -> str:
    """As much of the end as fits."""
    start = max(len(text) - columns, 0)
    while width(text[start:]) > columns:
        start += 1
    return text[start:]


# As many files of a folder a name is looked for among.
_MAX_FILES = 1_000


def did_you_mean(name: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """``did you mean A or B?``, the nearest first; "" if nothing is near. In a mapping, the keys
    are compared and the values are said."""
    said = known if isinstance(known, Mapping) else {one: one for one in known}
    near = get_close_matches(name[:200], said, n=3)
    return f"did you mean {' or '.join(said[one] for one in near)}?" if near else ""


def suggesting(message: str, name: str, known: Iterable[str]) -> str:
    """``message; did you mean A?``, or the message alone."""
    return "; ".join(filter(None, [message, did_you_mean(name, known)]))


def meant_file(path: Path) -> str:
    """As ``did_you_mean``, of what is in the folder of a ``path`` that is not there. Raises
    OSError."""
    names = [one.name for one in islice(path.parent.iterdir(), _MAX_FILES)]
    return did_you_mean(path.name, {name: str(path.parent / name) for name in names})
