"""What is said of several parts: once where all of them have it alike."""

from collections.abc import Mapping, Sequence


def alike(
    told: Mapping[str, Sequence[str]], missing: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """What is told of all parts, from what is told of each, in the order of the first;
    and the rest with the part's name before it, then why others are ``missing``."""
    first, *others = told.values()
    same = [text for text in first if all(text in some for some in others)]
    own = [f"{name}: {text}" for name, some in told.items() for text in some if text not in same]
    return same, [*own, *(f"{name}: {why}" for name, why in missing.items())]
