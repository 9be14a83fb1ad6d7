"""The profile of exact runs: counts by address, put where the call tree says they ran."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.metric import Metric
from profdiff.collectors.recorded import CallTree, Recorded
from profdiff.profile.addresses import Addresses
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.function_identity import fold
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.stack_table import StackTable
from profdiff.symbolization._native import expand_calls
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.places import Places

_FLAT = "recorded without callers (--no-call-tree): stacks are a function and what it inlines"

_REFUSED = "there were too many call paths: {:,} times what one ran counts for its caller"


def exact_profile(
    runs: Sequence[Recorded],
    symbolize: Callable[[Places], Chains],
    read: Callable[[int], Recorded] | None = None,
) -> Profile:
    """The profile of what runs of one kernel executed, from their call trees. ``read`` reads one of
    them again, for what its addresses tell of callers; it holds no recording.

    A tree must hold exactly what was counted at each address; where it does not, callers are not
    shown, and a remark says so.
    """
    addresses, rows = Addresses.of_runs(runs, symbolize)
    pairs = zip(runs, rows, strict=True)
    trees = [run.calls.placed(where) for run, where in pairs if run.calls is not None]
    chains, counts = addresses.chains, addresses.counts
    flat = partial(Profile.from_chains, chains, counts, addresses.metrics)
    if len(trees) < len(runs):
        return replace(flat(), addresses=(addresses,), remarks=[_FLAT, *chains.remarks])
    for run, tree in enumerate(trees):
        if unequal := tree.unequal(counts[:, run, 0]):
            remark = (
                f"the call tree of run {run + 1} does not add up to the counts at {unequal:,} of "
                f"{len(counts):,} addresses: callers are NOT shown (please report this)"
            )
            return replace(flat(), addresses=(addresses,), remarks=[remark, *chains.remarks])
    if read is not None:
        addresses = replace(addresses, trees=partial(_trees, read, rows))
    functions = addresses.functions
    entries = _entries(chains, functions)
    profiles = [_run_profile(chains, functions, entries, tree, addresses.metrics) for tree in trees]
    refused = max(tree.refused for tree in trees)
    return replace(
        Profile.merged(profiles),
        addresses=(addresses,),
        remarks=[*([_REFUSED.format(refused)] if refused else []), *chains.remarks],
        identical=bool((counts == counts[:, :1]).all()),
    )


def _trees(
    read: Callable[[int], Recorded], rows: Sequence[NDArray[np.intp]], run: int
) -> Sequence[tuple[int, CallTree]]:
    tree = read(run).calls
    return [] if tree is None else [(1, tree.placed(rows[run]))]


def _run_profile(
    chains: Chains,
    functions: ChainFunctions,
    entries: NDArray[np.bool_],
    tree: CallTree,
    metrics: tuple[Metric, ...],
) -> Profile:
    outermost = functions.frames[functions.offsets[:-1]].astype(np.int64)
    # What was entered: by calls and their like, and by a jump from another function (a tail call),
    # whose callee runs in its caller's node.
    callee = np.where(tree.target >= 0, outermost[tree.target], -1)
    called = np.flatnonzero((tree.calls > 0) & (tree.target >= 0))
    idle = tree.idle
    # Of what gave way, the innermost function is the one that was entered last.
    waits = np.empty(0, np.int64) if idle is None else np.flatnonzero(tree.target[idle.node] >= 0)
    gave_way = waits if idle is None else idle.node[waits]
    jumped = np.flatnonzero(entries[tree.place] & (outermost[tree.place] != callee[tree.node]))
    node = np.concatenate([tree.node, called, tree.node[jumped], gave_way])
    place = np.concatenate(
        [tree.place, tree.target[called], tree.place[jumped], tree.target[gave_way]]
    )
    stacks = expand_calls(
        tree.parent,
        tree.site,
        node,
        place,
        np.arange(len(node)) >= len(tree.node),
        functions.offsets,
        functions.frames,
        functions.inlined,
    )
    table = StackTable(stacks.parent, stacks.function, stacks.depth)
    ran, entered, left = np.split(stacks.entry_stack, [len(tree.node), len(node) - len(gave_way)])
    counts = np.zeros(len(table), np.int64)
    np.add.at(counts, ran, tree.count)
    calls = np.zeros(len(table), np.int64)
    np.add.at(calls, entered, np.concatenate([tree.calls[called], tree.count[jumped]]))
    idled = None
    if idle is not None:
        idled = np.zeros((len(table), 1, 2), np.int64)
        np.add.at(idled[:, 0], left, np.column_stack([idle.time, idle.times])[waits])
    return Profile(
        functions=functions.functions,
        lines=functions.lines,
        symbols=functions.symbols(chains),
        stacks=table,
        inlined=stacks.inlined,
        metrics=metrics,
        counts=counts[:, None, None],
        samples=None,
        calls=calls[:, None],
        idle=idled,
        inlines_visible=chains.inlines_visible,
        identical=False,
    )


def _entries(chains: Chains, functions: ChainFunctions) -> NDArray[np.bool_]:
    """bool[N]: whether a place is where its function begins: the lowest one that executed.

    Nothing of a function lies below its entry but parts that the compiler moved away (``.cold``),
    which have symbols of their own.
    """
    outermost = functions.frames[functions.offsets[:-1]].astype(np.int64)
    key = outermost * len(chains.strings) + chains.symbol
    order = np.lexsort((chains.address, key))
    first = np.ones(len(order), np.bool_)
    first[1:] = key[order][1:] != key[order][:-1]
    entries = np.zeros(len(order), np.bool_)
    entries[order[first]] = True
    moved = [".cold" in fold(text)[1] for text in chains.strings]
    return entries & functions.resolved & ~np.array(moved, np.bool_)[chains.symbol]
