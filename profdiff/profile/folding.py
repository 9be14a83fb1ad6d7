"""Chains without the inlined functions of some objects: what compares with a kernel of which
nothing tells those."""

from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.profile.function_identity import fold
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_code import KernelCode
from profdiff.symbolization.places import distinct


@cache
def chains_without(objects: frozenset[str]) -> Callable[[Path], Chains]:
    """What loads chains, folded; one for the same objects, so that what it loads can be kept."""
    return lambda path: folded(Chains.load(path), objects)


@cache
def code_without(objects: frozenset[str]) -> Callable[[Path], KernelCode]:
    """The same for code."""

    def load(path: Path) -> KernelCode:
        code = KernelCode.load(path)
        return replace(code, chains=folded(code.chains, objects))

    return load


def folded(chains: Chains, objects: Collection[str]) -> Chains:
    """The same chains, but that an address in one of ``objects`` is in the function that its ELF
    symbol names, whatever is inlined there. Where one name is of several files, nothing tells a
    kernel's without debug information apart: it has none here either."""
    if not objects or not len(chains.frames):
        return chains
    offsets = chains.offsets.astype(np.int64)
    lengths = offsets[1:] - offsets[:-1]
    outer = np.zeros(len(chains), np.int64)
    outer[lengths > 0] = chains.frames[offsets[:-1][lengths > 0]]
    known = {name: number for number, name in enumerate(chains.strings)}
    owners = [known[name] for name in objects if name in known]
    mine = (lengths > 0) & np.isin(chains.function_object[chains.frame_function[outer]], owners)
    if not mine.any():
        return chains
    outer = outer[mine]
    physical = chains.frame_function[outer]
    symbol = chains.symbol[mine].astype(np.int64)
    functions, function_of = np.unique(
        np.stack([symbol, chains.function_object[physical]], axis=1), axis=0, return_inverse=True
    )
    function_of = function_of.reshape(-1)
    file, line = _declared(chains, functions, function_of, physical)
    frames, frame_of = np.unique(
        np.stack([function_of, outer], axis=1), axis=0, return_inverse=True
    )
    # What stays, numbered anew: a function that only was inlined is none any more.
    stays = chains.frames[np.repeat(~mine, lengths)]
    old_frames = distinct(stays)
    old_functions = distinct(chains.frame_function[old_frames])
    more, first = len(old_functions), len(old_frames)
    length = np.where(mine, 1, lengths)
    every = np.empty(int(length.sum()), np.int64)
    inside = np.repeat(mine, length)
    every[inside] = first + frame_of.reshape(-1)
    every[~inside] = np.searchsorted(old_frames, stays)

    def both(old: NDArray[np.generic], new: NDArray[np.generic]) -> NDArray[np.uint32]:
        return np.concatenate([old, new]).astype(np.uint32)

    was = chains.frame_function[old_frames]
    return replace(
        chains,
        function_name=both(chains.function_name[old_functions], functions[:, 0]),
        function_object=both(chains.function_object[old_functions], functions[:, 1]),
        function_file=both(chains.function_file[old_functions], file),
        function_line=both(chains.function_line[old_functions], line),
        frame_function=both(np.searchsorted(old_functions, was), more + frames[:, 0]),
        frame_inlined=both(chains.frame_inlined[old_frames], 0 * frames[:, 0]).astype(np.bool_),
        frame_file=both(chains.frame_file[old_frames], chains.frame_file[frames[:, 1]]),
        frame_line=both(chains.frame_line[old_frames], chains.frame_line[frames[:, 1]]),
        offsets=np.concatenate([[0], np.cumsum(length)]).astype(np.uint32),
        frames=every.astype(np.uint32),
        blind=sorted({*chains.blind, *objects}),
    )


def _declared(
    chains: Chains,
    functions: NDArray[np.int64],
    function_of: NDArray[np.intp],
    physical: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The file and the line of each function where all of its name are of one, 0 of others."""
    numbers: dict[tuple[str, int], int] = {}
    named = [
        numbers.setdefault((fold(chains.strings[name])[0], owner), len(numbers))
        for name, owner in functions.tolist()
    ]
    group = np.array(named, np.int64)
    found = []
    for column in (chains.function_file, chains.function_line):
        told = column[physical].astype(np.int64)
        low = np.full(len(numbers), np.iinfo(np.int64).max)
        high = np.zeros(len(numbers), np.int64)
        np.minimum.at(low, group[function_of], told)
        np.maximum.at(high, group[function_of], told)
        found.append(np.where(low == high, low, 0)[group])
    return found[0], found[1]
