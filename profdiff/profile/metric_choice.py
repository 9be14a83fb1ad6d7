"""Which metric is shown where a form shows one: one rule for all forms."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from profdiff.base.errors import InputError, SessionError
from profdiff.base.metric import Metric
from profdiff.collectors import registry

_Of = TypeVar("_Of")


def common(measured: Iterable[tuple[str, Sequence[Metric]]]) -> list[Metric]:
    """The metrics of the first recording, each with its kernel's label, that all others have.
    Raises SessionError without any."""
    by_label: dict[str, list[Metric]] = {}
    for label, own in measured:
        by_label[label] = [one for one in by_label.get(label, own) if one in own]
    first, *others = by_label.values()
    if found := [one for one in first if all(one in other for other in others)]:
        return found
    told = "; ".join(
        f"{label}: {', '.join(metric.name for metric in own) or 'nothing'}"
        for label, own in by_label.items()
    )
    raise SessionError(
        f"the kernels have no metric in common ({told}): record them with the same --event"
    )


def chosen(known: Mapping[str, _Of], wanted: str | None) -> _Of:
    """What ``[COLLECTOR:]NAME`` names of ``known``, whose keys are ``COLLECTOR:NAME``, or the
    first. Raises InputError."""
    if not known:
        able = " or ".join(name for name, one in registry.recording().items() if one.profiles)
        raise InputError(
            f"no run of this session has a profile, which tells what functions cost: record with "
            f"--collector {able}"
        )
    if wanted is None:
        return next(iter(known.values()))
    for name, one in known.items():
        if wanted in (name, name.partition(":")[2]):
            return one
    raise InputError(f"--metric {wanted}: the session has {', '.join(known)}")
