"""What a mistyped name was meant to be."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

# As many files of a folder a name is looked for among.
_MOST = 1_000


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
    names = [one.name for one in islice(path.parent.iterdir(), _MOST)]
    return did_you_mean(path.name, {one: str(path.parent / one) for one in names})
