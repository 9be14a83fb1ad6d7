"""What a mistyped name was meant to be."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """``did you mean A or B?``, the nearest first; "" if nothing is near. In a mapping, the keys
    are compared and the values are said."""
    said = known if isinstance(known, Mapping) else {one: one for one in known}
    near = get_close_matches(name[:200], said, n=3)
    return f"did you mean {' or '.join(said[one] for one in near)}?" if near else ""
