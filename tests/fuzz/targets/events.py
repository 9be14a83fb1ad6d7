"""The events, and items of the inventory, that a session keeps of its settings."""

from pathlib import Path

import numpy as np

from fuzz.structured import in_npz
from fuzz.target import Target
from profdiff.base.errors import SessionError
from profdiff.evidence.kept_events import cell_changes
from profdiff.profile.code.classes import CLASSES
from profdiff.profile.events import events
from profdiff.profile.kept_events import KeptEvents
from profdiff.session.points import Setting

_OPS = 100


def _seeds() -> list[bytes]:
    """Two kernels at one setting, in two states: each event happens twice as often on the other."""
    names = [*(one.name for one in events()), *CLASSES]
    shape = 2, 2, len(names)
    counts = np.full((*shape, 3), _OPS, np.int64)
    counts[:, 1] *= 2
    file = Path("events.npz")
    KeptEvents(
        runs="0" * 64,
        table="1" * 64,
        labels=["base", "new"],
        events=names,
        point=np.zeros(2, np.int64),
        state=np.arange(2, dtype=np.uint32),
        known=np.ones(shape, np.bool_),
        counts=counts,
        interrupts=np.zeros(shape[:2], np.int64),
        way=np.zeros(shape, np.uint8),
        inlined=np.zeros(shape, np.bool_),
        looked_up=np.ones(shape, np.bool_),
        beside=counts,
        beside_known=np.ones(shape, np.bool_),
    ).save(file)
    return [file.read_bytes()]


def _read(data: bytes, folder: Path) -> None:
    file = folder / "events.npz"
    file.write_bytes(data)
    setting = Setting(0, None, {}, 1, _OPS)
    kept = KeptEvents.load(file)
    if here := kept.at(0):
        for label in kept.labels:
            assert set(kept.event_counts(here, label)) <= set(kept.events)
    counted = kept, setting, {"base": 9, "new": 9}, "base", _OPS, 0
    for found in (cell_changes(*counted), cell_changes(*counted, floors={"base": 1.0})):
        assert all(one.base != one.other for one in found.get("new", ()))


TARGETS = (
    Target(
        "events",
        _seeds,
        _read,
        cases=1000,
        refusals=(SessionError,),
        mutations=[in_npz, in_npz],
    ),
)
