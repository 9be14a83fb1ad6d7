"""Which names are one row: those of lines, on any kernel, that have fields of one record or
variable in common. What is written most on a line of one kernel need not
be it on another."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.sums import Sums


def joined(
    kernels: Sequence[Mapping[Name, Sums]], ops: Sequence[int]
) -> tuple[dict[Name, Name], dict[Name, list[Name]]]:
    """The name of the row that each name belongs to; and what makes the lines of each row change
    hands, the most first, by the operations of each kernel."""
    weights: Counter[Name] = Counter()
    written: defaultdict[Name, set[Name]] = defaultdict(set)
    for own, several in zip(kernels, ops, strict=True):
        for name, sums in own.items():
            if _is_whole(name):
                for one, count in sums.sharing.items():
                    if _owner(one) == _owner(name):
                        weights[one] += count / several  # type: ignore[assignment]
                if sums.sharing:
                    every = sums.written | {name}
                    written[_owner(name)] |= {one for one in every if _owner(one) == _owner(name)}
    row = {name: name for own in kernels for name in own}

    def of(name: Name) -> Name:
        while row.setdefault(name, name) != name:
            name = row[name]
        return name

    def join(one: Name, other: Name) -> None:
        first, second = sorted((of(one), of(other)))
        row[second] = first

    for own in kernels:
        for name, sums in own.items():
            if not _is_whole(name):
                continue
            covers = {_plain(path) for path in sums.covers}
            # What is seldom written here may be what makes the line change hands elsewhere.
            for other in written[_owner(name)]:
                if other in sums.written or _plain(other.path) in covers:
                    join(name, other)
    members: defaultdict[Name, list[Name]] = defaultdict(list)
    for name in row:
        members[of(name)].append(name)
    title: dict[Name, Name] = {}
    fields: dict[Name, list[Name]] = {}
    for some in members.values():
        there = [name for name in some if weights[name]] or some
        there.sort(key=lambda name: (-weights[name], name))
        fields[there[0]] = there
        title |= dict.fromkeys(some, there[0])
    return title, fields


def _owner(name: Name) -> Name:
    return name._replace(path="", function=-1)


def _plain(path: str) -> str:
    """An array of something stands for the one thing that it was."""
    return path.replace("[]", "")


def _is_whole(name: Name) -> bool:
    """Whether a name says of what the data is a part."""
    is_object = name.kind in ("field", "variable", "per-cpu")
    return is_object and not name.among and not name.is_part
