"""Programs that ran in one guest, each as a kernel's profile of its own."""

import numpy as np
from msgspec.structs import replace

from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import Profile

NAME = "work"


def version(whole: Comparison, program: str) -> Profile:
    """What the base executed of ``program`` in user space, as if it were called ``NAME``."""
    every = [*whole.functions, *whole.unnamed]
    mine = np.array([one.object == program for one in every])
    table, rows = whole.stacks.kept(mine[whole.stacks.function])
    counts = np.where(mine[table.function], whole.counts[rows, 0], 0)
    assert whole.calls is not None
    renamed = [one._replace(object=NAME) if one.object == program else one for one in every]
    used = np.unique(table.function)
    addresses = _addresses(whole.addresses[0][0], program)
    return Profile(
        functions=[renamed[number] for number in used.tolist()],
        lines=np.array([0] * len(used), np.int64),
        symbols={},
        stacks=replace(table, function=np.searchsorted(used, table.function)),
        inlined=whole.inlined[rows, 0],
        inlines_visible=True,
        metrics=(whole.metric,),
        counts=counts[:, None, None],
        samples=None,
        calls=whole.calls[rows, :1],
        identical=True,
        addresses=[addresses],
    )


def _addresses(every: Addresses, program: str) -> Addresses:
    chains = every.chains
    outermost = np.full(len(chains), -1, np.int64)
    resolved = np.flatnonzero(np.diff(chains.offsets))
    frames = chains.frames[chains.offsets[resolved]]
    outermost[resolved] = chains.function_object[chains.frame_function[frames]]
    rows = np.flatnonzero(outermost == chains.strings.index(program))
    strings = [NAME if text == program else text for text in chains.strings]
    places = every.places
    places = replace(
        places,
        address=places.address[rows],
        object=places.object[rows],
        code=None if places.code is None else places.code[rows],
    )
    counts = every.counts[rows, :1]
    assert every.trees
    ((_, tree),) = every.trees(0)
    numbers = np.full(len(chains) + 1, -1, np.int64)
    numbers[rows] = np.arange(len(rows))
    mine = numbers[tree.place] >= 0
    own = replace(
        tree,
        site=numbers[tree.site],
        target=numbers[tree.target],
        node=tree.node[mine],
        place=numbers[tree.place[mine]],
        count=tree.count[mine],
    )
    return replace(
        every,
        places=places,
        chains=replace(chains.taken(rows), strings=strings),
        executed=every.executed[rows],
        count=lambda: counts,
        iterations=None,
        trees=lambda _: [(1, own)],
    )
