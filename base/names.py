"""Names in little room: cut so that those of one table never look alike."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

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
