"""The table of events, and how it is told what a kernel has."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import need_program

from profdiff.evidence.events import in_one_state, in_states
from profdiff.profile.events import Way, events, symbols
from profdiff.profile.function_identity import fold
from profdiff.session.states import StateChange

FIXTURES = {"v6.12.107": (6, 12), "v6.18.15": (6, 18), "v7.1.8": (7, 1)}
KALLSYMS = b"""\
ffffffff81000000 T _text
ffffffff81000010 t flush_one.constprop.0
ffffffff81000020 t flush_one.isra.0
ffffffff81000030 t flush_one.part.0
ffffffff81000040 t flush_one.cold
ffffffff81000050 D flush_one
ffffffff81000060 T __pfx_flush_all
ffffffff81000070 T flush_all
ffffffffc0000000 t flush_all\t[module]
0000000000000000 T flush_none
"""


def test_a_function_begins_where_its_clones_do() -> None:
    found = symbols(KALLSYMS, {"flush_one", "flush_all", "flush_none", "flush"})
    assert found == {
        "flush_one": [0xFFFFFFFF81000010, 0xFFFFFFFF81000020],
        "flush_all": [0xFFFFFFFF81000070],
    }


def version(text: str) -> tuple[int, ...]:
    """As numbers."""
    return tuple(map(int, text.split(".")))


def test_each_event_says_where_it_is_from() -> None:
    assert len({event.name for event in events()}) == len(events())
    for event in events():
        assert re.fullmatch(r"[a-z-]+", event.name)
        assert event.ways
        for way in event.ways:
            assert way.functions
            assert way.source
            for name, ends in way.looked_up.items():
                assert all(way.is_looked_up(name, version(one)) for one in ends)
    sections = [event.about for event in events()]
    assert sorted(set(sections), key=sections.index) == [
        one for n, one in enumerate(sections) if n == 0 or sections[n - 1] != one
    ]


def test_a_version_is_looked_up_within_its_range() -> None:
    way = Way(("f",), "a.c", {"x86_64": ("6.12", "7.1")})
    known = [(6, 12), (6, 18), (7, 0), (7, 1)]
    assert all(way.is_looked_up("x86_64", one) for one in known)
    assert not any(way.is_looked_up("x86_64", one) for one in ((6, 11), (7, 2), None))
    assert not way.is_looked_up("arm64", (6, 12))


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXTURES)
def test_the_functions_are_in_the_files_that_it_names(
    fixture_vmlinux: Callable[[str], Path], name: str
) -> None:
    """Of the way that tells each event in this version, unless what it tells is inlined; these
    kernels have no network."""
    vmlinux = fixture_vmlinux(name)
    starts: dict[str, list[str]] = {}
    for line in output("nm", str(vmlinux)).splitlines():
        start, kind, symbol = line.split()[-3:]
        own, suffix = fold(symbol)
        if kind in "tTwW" and not {".cold", ".part"} & set(re.findall(r"\.[a-z]+", suffix)):
            starts.setdefault(own, []).append(start)
    wanted, lacking = [], []
    for event in events():
        ways = [way for way in event.ways if way.is_looked_up("x86_64", FIXTURES[name])]
        found = [way for way in ways if all(one in starts for one in way.functions)]
        if found:
            wanted += [(function, found[0].source) for function in found[0].functions]
        elif not all(way.inside for way in ways):
            lacking.append(event.name)
    assert lacking == ["softirq-net-tx", "softirq-net-rx"]
    assert all(len(starts[function]) == 1 for function, _ in wanted)
    addresses = [starts[function][0] for function, _ in wanted]
    files = output("addr2line", "-e", str(vmlinux), *addresses).splitlines()
    for (function, source), file in zip(wanted, files, strict=True):
        known = re.findall(r"[\w/.-]+\.[chS]\b", source)
        assert any(file.partition(":")[0].endswith(f"/{one}") for one in known), (function, file)


def output(*command: str) -> str:
    """What a program of binutils prints."""
    need_program(command[0], "binutils")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


counts = st.integers(0, 1000)


@given(counts, counts, st.integers(0, 50))
def test_what_chance_can_make_is_not_exact(base: int, other: int, few: int) -> None:
    found = in_one_state((base, other), other - base, other - base, few)
    assert found.delta == other - base
    assert found.low <= found.delta <= found.high
    if base == other:
        assert found.verdict == "exact"
    else:
        by_chance = few == 0 or abs(found.delta) <= few
        assert found.verdict == ("unsure" if by_chance else "exact")


def test_runs_that_differ_are_not_exact() -> None:
    assert in_one_state((10, 100), -20, 90, 3).verdict == "unsure"
    assert in_one_state((10, 100), 80, 90, 3).verdict == "exact"


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=5))
def test_states_that_contradict_each_other_decide(values: list[tuple[int, int]]) -> None:
    found = in_states([StateChange(base, other) for base, other in values])
    deltas = [other - base for base, other in values]
    assert (found.delta, found.low, found.high) == (deltas[0], min(deltas), max(deltas))
    assert found.states == len(values)
    if min(deltas) < 0 < max(deltas):
        assert found.verdict == "depends on state"
    if len(set(values)) == 1:
        assert found.verdict == "exact"
