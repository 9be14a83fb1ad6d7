"""Varied states: what a workload finds otherwise than in the plain one, though it should not matter
to it. ``state.c`` makes them."""

from dataclasses import asdict, dataclass
from random import Random

# What each of the first states is drawn from, so that few are unlike each other: of mappings, a
# node of the kernel's tree of them has 10 or 16; of open files, a table grows behind the 64th,
# which is the 44th of ours.
_MAPPINGS = ((0, 8), (8, 16), (16, 24), (24, 32))
_FILES = ((0, 16), (16, 44), (44, 76), (76, 108))


@dataclass(frozen=True)
class VariedState:
    """How many of what there are beside those of the plain state. ``mappings`` of the workload's
    process, ``apart`` of them in other parts of its addresses; open ``files``; bytes of
    ``environment``; ``processes`` that ended before, ``held`` objects of the kernel and ``freed``
    ones; ``pages`` of memory that are free again."""

    mappings: int
    apart: int
    files: int
    environment: int
    processes: int
    held: int
    freed: int
    pages: int

    @staticmethod
    def drawn(seed: int, number: int) -> "VariedState":
        """State ``number``, from 1, of a recording's ``seed``: the same for all that it records."""
        parts = Random(f"{seed}")  # noqa: S311
        mappings, files = (
            parts.sample(one, len(one))[(number - 1) % len(one)] for one in (_MAPPINGS, _FILES)
        )
        random = Random(f"{seed}:state {number}")  # noqa: S311
        return VariedState(
            mappings=random.randrange(*mappings),
            apart=random.randrange(4),
            files=random.randrange(*files),
            environment=random.randrange(4096),
            processes=random.randrange(128),
            held=random.randrange(40),
            freed=random.randrange(60),
            pages=random.randrange(512),
        )

    def content(self) -> bytes:
        """The file that tells the agent."""
        return "".join(f"{name} {value}\n" for name, value in asdict(self).items()).encode()
