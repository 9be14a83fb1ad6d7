"""Rows of ``DataAccesses`` with their texts."""

from typing import NamedTuple

import numpy as np
from data_oracles.records import Place

from profdiff.symbolization.data_accesses import KINDS, REASONS, DataAccesses


class Answer(NamedTuple):
    """A row of ``DataAccesses``, with its texts."""

    address: int
    kind: str
    reason: str
    record: str
    symbol: str
    path: str
    others: tuple[str, ...]
    nested: tuple[Place, ...]
    flags: int
    offset: int
    size: int
    type_size: int
    # Where it may be, as calls say.
    origins: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """All that it says may be accessed: of the type, and of those within."""
        return (Place(self.record, self.path), *self.nested)


def answers(found: DataAccesses) -> list[Answer]:
    """All rows."""
    texts, rows = found.strings, []
    # What a call gives is no place that it accesses.
    origins = np.where(found.is_kind("call"), 0, found.origins)
    for row in range(len(found)):
        nested = texts[found.nested[row]]
        others = texts[found.alternatives[row]]
        rows.append(
            Answer(
                int(found.address[row]),
                KINDS[found.kind[row]],
                REASONS[found.reason[row]],
                texts[found.type[row]],
                texts[found.symbol[row]],
                texts[found.field[row]],
                tuple(others.split("|")) if others else (),
                tuple(Place(*one.split(":", 1)) for one in nested.split("|")) if nested else (),
                int(found.flags[row]),
                int(found.offset[row]),
                int(found.size[row]),
                int(found.type_size[row]),
                tuple(filter(None, texts[origins[row]].split("|"))),
            )
        )
    return rows
