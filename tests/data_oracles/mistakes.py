"""Answers with mistakes, to see which of them an oracle finds."""

import random
from collections.abc import Sequence

from data_oracles.rows import Answer

_SHIFTS = (-128, -64, -24, -16, -8, 8, 16, 24, 40, 64, 100, 128)


def shifted(row: Answer, chance: random.Random) -> Answer:
    """The same type, another displacement: what is there has no name here."""
    shift = chance.choice([one for one in _SHIFTS if row.offset + one >= 0])
    return row._replace(offset=row.offset + shift, path=row.path, others=(), nested=())


def replaced(row: Answer, rows: Sequence[Answer], chance: random.Random) -> Answer | None:
    """What another one says; none where that is the same."""
    other = chance.choice(rows)
    if (other.record, other.path) == (row.record, row.path):
        return None
    names = {"record": other.record, "symbol": other.symbol, "path": other.path}
    return row._replace(
        **names, kind=other.kind, others=other.others, nested=other.nested, offset=other.offset
    )
