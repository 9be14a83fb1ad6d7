"""How large functions are, and whether they run inlined."""

import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import defaultdict
from pathlib import Path

import classes as made
import numpy as np
import pytest
from msgspec.structs import replace
from support import frames_of, need_kernel, need_program
from synthetic import Row, frame

from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import fold
from profdiff.profile.inline_sites import code_sizes, inlining
from profdiff.profile.recordings import Recordings
from profdiff.session.manifest import replace as changed
from profdiff.session.session import Session
from profdiff.symbolization.places import KERNEL_HALF

OUTER, INNER, HELPER = frame("outer"), frame("inner", inlined=True), frame("helper", inlined=True)


def exact(session: Path) -> tuple[Session, Comparison]:
    opened = Session.open(session)
    (comparison,) = Recordings(opened).comparisons()
    return opened, comparison


def test_ways_of_a_function() -> None:
    def ran(chain: list[tuple[str, str, str, bool]], count: int) -> tuple[Row, str]:
        return (chain, chain[0][0], True, [count]), "nop"

    by_itself = frame("inner")
    base = [ran([OUTER, INNER], 3), ran([OUTER, INNER, HELPER], 3), ran([by_itself], 0)]
    new = [ran([OUTER], 1), ran([by_itself, HELPER], 2), ran([frame("other"), HELPER], 1)]
    comparison = made.compare({"base": base, "new": new})
    found = inlining(comparison)
    names = [function.name for function in comparison.functions]
    copies = dict(zip(names, found.copies.tolist(), strict=True))
    called = dict(zip(names, found.called.tolist(), strict=True))
    # What did not run is no copy, nor a call; a caller of nothing but copies ran all the same.
    assert copies == {"outer": [0, 0], "inner": [1, 0], "helper": [1, 2], "other": [0, 0]}
    assert called["inner"] == [False, True] and called["outer"] == [True, True]
    into = [
        {names[row]: [names[one] for one in callers] for row, callers in of_kernel.items()}
        for of_kernel in found.callers
    ]
    assert into[0] == {"inner": ["outer"], "helper": ["inner"]}
    assert {name: sorted(callers) for name, callers in into[1].items()} == {
        "helper": ["inner", "other"]
    }
    hidden = inlining(replace(comparison, inlines_visible=[True, False]))
    assert hidden.known.tolist() == [True, False]


@pytest.mark.guest
def test_copies_are_what_call_sites_tell_apart(whole_command: Path) -> None:
    """Counted from the frames of each executed address, one by one."""
    _, comparison = exact(whole_command)
    found = inlining(comparison)
    for kernel, (addresses,) in enumerate(comparison.addresses):
        chains, counts = addresses.chains, addresses.counts[:, comparison.picked[kernel], 0]
        copies: defaultdict[str, set[object]] = defaultdict(set)
        called: set[str] = set()
        # A program may have a function of the same name.
        kernels = addresses.places.address >= KERNEL_HALF
        for place in np.flatnonzero(counts.astype(bool) & kernels).tolist():
            frames = frames_of(chains, place)
            for depth, (name, _, inlined, _, _) in enumerate(frames):
                if inlined:
                    below = (chains.strings[chains.symbol[place]], *frames[:depth])
                    copies[fold(name)[0]].add(below)
                else:
                    called.add(fold(name)[0])
        unique = [
            (row, function.name)
            for row, function in enumerate(comparison.functions)
            if not comparison.namesakes[row] and function.in_kernel
        ]
        alone = {name for _, name in unique}
        assert len(alone) == len(unique) > 400
        for row, name in unique:
            assert found.copies[row, kernel] == len(copies[name]), name
            assert found.called[row, kernel] == (name in called), name


@pytest.mark.guest
@pytest.mark.parametrize(("kernel", "version"), [(0, "v6.12.107"), (1, "v6.18.15")])
def test_sizes_are_those_of_the_symbols(
    whole_command: Path, tmp_path: Path, kernel: int, version: str
) -> None:
    """Of functions that are not inlined, as nm prints them."""
    elf = need_kernel(version) / "vmlinux"
    nm = need_program("nm", "binutils")
    told = subprocess.run([nm, "-S", elf], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+)(?: ([0-9a-f]+))? [a-zA-Z] (\S+)$", told, re.M)
    starts = sorted(int(start, 16) for start, _, _ in found)
    symbols: defaultdict[str, list[int]] = defaultdict(list)
    for start, size, name in found:
        if size:
            first, last = int(start, 16), int(start, 16) + int(size, 16)
            # Assembly code has symbols within symbols, of which the inner ones have the code.
            alone = bisect_left(starts, last) - bisect_right(starts, first) == 0
            symbols[fold(name)[0]] += [int(size, 16)] * (1 if alone else 2)
    session, comparison = exact(whole_command)
    sizes, ran = code_sizes(comparison, session, kept=True), inlining(comparison)
    assert sizes.missing == ["", ""]
    compared = 0
    for row, function in enumerate(comparison.functions):
        own = symbols[function.name]
        # Namesakes, clones, and parts moved away share a name: nm does not tell which of them ran.
        if not ran.called[row, kernel] or ran.copies[row, kernel] or len(own) != 1:
            continue
        if function.object == "vmlinux":
            assert sizes.size[row, kernel] == own[0], function.name
            compared += 1
    assert compared > 50


@pytest.mark.guest
def test_sizes_that_are_not_known(recorded: Path) -> None:
    session, comparison = exact(recorded)
    assert code_sizes(comparison, None).missing == ["no session keeps its code"] * 2
    kernels = [changed(one, code=None, debug_elf=None) for one in session.manifest.kernels]
    without = Session(session.folder, changed(session.manifest, kernels=kernels))
    for kept in (True, False):
        found = code_sizes(comparison, without, kept=kept)
        assert all(found.missing) and not found.size.any()
