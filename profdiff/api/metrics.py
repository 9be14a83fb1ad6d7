"""The metrics whose functions a session knows, by their names."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.profile.comparison import Comparison


def named(comparisons: Sequence[Comparison]) -> dict[str, Comparison]:
    """By ``COLLECTOR:NAME``, in the order of the report."""
    return {f"{one.runs[0].collector}:{one.metric.name}": one for one in comparisons}


def chosen(comparisons: Sequence[Comparison], wanted: str | None) -> Comparison:
    """The one that ``[COLLECTOR:]NAME`` names, or the first. Raises InputError."""
    if not comparisons:
        able = " or ".join(name for name, one in registry.recording().items() if one.profiles)
        raise InputError(
            f"no run of this session has a profile, which tells what functions cost: record with "
            f"--collector {able}"
        )
    if wanted is None:
        return comparisons[0]
    known = named(comparisons)
    for name, one in known.items():
        if wanted in (name, one.metric.name):
            return one
    raise InputError(f"--metric {wanted}: the session has {', '.join(known)}")
