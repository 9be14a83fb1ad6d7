"""Where accessed fields and variables lie: what is paired, what is counted, and neighbours against
nm and against counting bytes."""

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from data_oracles.compiled import COMPILERS, accesses, built
from hypothesis import given
from hypothesis import strategies as st
from layout.made_data import Variable, kernel
from made_accesses import Layout, Site
from support import need_program

from profdiff.base.units import LINE
from profdiff.profile.data.type_layout import (
    Accessed,
    AccessedField,
    AccessedType,
    FieldPlace,
    accessed_types,
    accessed_variables,
)
from profdiff.symbolization.data_accesses import COMPUTED


def only(*kernels: Accessed | None) -> AccessedType:
    (found,) = accessed_types(kernels)
    return found


def field(of: AccessedType, name: str) -> AccessedField:
    (found,) = (one for one in of.fields if one.name == name)
    return found


def bytes_of(one: AccessedField) -> list[tuple[int, int] | None]:
    return [place and (place.bit_offset // 8, place.bit_size // 8) for place in one.places]


def test_a_field_has_a_place_on_a_kernel_that_does_not_access_it() -> None:
    before: Layout = (72, {"a": (0, 8), "b": (56, 8), "c": (64, 8)})
    after: Layout = (80, {"a": (0, 8), "new": (8, 8), "b": (64, 8), "c": (72, 8)})
    base = kernel([Site("a", 10), Site("b", 3)], {"thing": before})
    new = kernel([Site("a", 10), Site("new", 2)], {"thing": after})
    found = only(base, new)
    assert [one.name for one in found.fields] == ["a", "new", "b"]
    assert bytes_of(field(found, "b")) == [(56, 8), (64, 8)]
    assert field(found, "b").counts == [3, 0]
    assert bytes_of(field(found, "new")) == [None, (8, 8)]
    # Of the fields that some kernel accesses: a and b, a and new and b.
    assert [found.lines(0), found.lines(1)] == [1, 2]
    assert found.count == 13


def test_a_field_that_became_a_struct_is_the_same() -> None:
    base = kernel([Site("flags", 5)], {"thing": (16, {"x": (0, 8), "flags": (8, 8)})})
    new = kernel([Site("flags.f", 6)], {"thing": (80, {"x": (0, 8), "flags.f": (72, 8)})})
    for kernels, counts in (((base, new), [5, 6]), ((new, base), [6, 5])):
        (one,) = only(*kernels).fields
        assert (one.name, one.counts) == ("flags", counts)
    assert bytes_of(only(base, new).fields[0]) == [(8, 8), (72, 8)]


def test_of_an_array_only_what_was_accessed_counts() -> None:
    large: Layout = (1024, {"a": (0, 8), "list[]": (64, 640), "list[].x": (64, 8)})
    moved: Layout = (1024, {"a": (0, 8), "list[]": (96, 640), "list[].x": (96, 8)})
    sites = [Site("list[].x", 5, offset=64 + 80), Site("a", 1)]
    found = only(kernel(sites, {"thing": large}), kernel(sites[1:], {"thing": moved}))
    assert bytes_of(field(found, "list[].x")) == [(144, 8), (176, 8)]
    assert [found.lines(0), found.lines(1)] == [2, 2]
    computed = [Site("list[].x", 5, flags=int(COMPUTED)), *sites[1:]]
    found = only(kernel(computed, {"thing": large}))
    assert bytes_of(field(found, "list[].x")) == [(64, 640)]


def test_nothing_is_known_of_a_type_that_a_kernel_does_not_access() -> None:
    layout: Layout = (8, {"a": (0, 8)})
    base = kernel([Site("a", 1)], {"thing": layout})
    other = kernel([Site("b", 1, type="other")], {"other": (8, {"b": (0, 8)})})
    thing = next(one for one in accessed_types([base, other]) if one.name == "thing")
    assert thing.layouts[1] is None
    assert (thing.lines(0), thing.lines(1)) == (1, None)
    assert accessed_types([base, None])[0].layouts[1] is None


def test_what_two_lengths_have_as_often_is_no_access() -> None:
    layout: Layout = (16, {"a": (0, 8), "b": (8, 8)})
    found = only(kernel([Site("a", 0), Site("b", 4)], {"thing": layout}))
    assert [one.name for one in found.fields] == ["b"]


def test_a_member_lies_where_its_fields_do() -> None:
    layout: Layout = (200, {"lock.a": (56, 8), "lock.list[]": (64, 16), "locked": (0, 4)})
    found = only(kernel([Site("lock.a", 1)], {"thing": layout}))
    (of,) = found.layouts
    assert of is not None
    assert of.place("lock") == FieldPlace(56 * 8, 24 * 8)
    assert list(FieldPlace(56 * 8, 24 * 8).lines) == [0, 1]
    assert of.place("lo") is None
    assert of.place("lock.list") == FieldPlace(64 * 8, 16 * 8)


_BITS = st.tuples(st.integers(0, 5000), st.integers(0, 700))


@given(st.lists(_BITS, min_size=1, max_size=6))
def test_lines_of_fields_are_those_that_their_bits_lie_in(places: list[tuple[int, int]]) -> None:
    # Columns are in bits, sites and layouts of these tests in bytes.
    for offset, size in places:
        bits = range(offset, offset + max(size, 1))
        assert set(FieldPlace(offset, size).lines) == {bit // 8 // LINE for bit in bits}


_SIZES = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 40)), min_size=1, max_size=12)


@given(_SIZES, st.integers(0, 200))
def test_neighbours_share_a_line(sizes: list[tuple[int, int]], start: int) -> None:
    variables, address = [], start
    for number, (size, gap) in enumerate(sizes):
        variables.append(Variable(f"v{number}", address, size, accessed=True))
        address += size + gap
    sites = [Site("", 1, kind="global", type="", symbol=one.name) for one in variables]
    found = {one.name: one for one in accessed_variables([kernel(sites, {}, variables)])}
    assert len(found) == len(variables)
    lines = {one.name: {byte // LINE for byte in _bytes(one)} for one in variables}
    for one in variables:
        (place,) = found[one.name].places
        assert place is not None
        shared = [
            other for other in variables if other != one and lines[other.name] & lines[one.name]
        ]
        assert [beside.name for beside in place.neighbours] == [other.name for other in shared]
        assert place.at == one.address % LINE


def _bytes(one: Variable) -> range:
    return range(one.address, one.address + one.size)


def test_other_sections_and_names_that_several_have() -> None:
    variables = [
        Variable("hot", 0, 8, accessed=True, section=".data..percpu"),
        Variable("cold", 8, 8, section=".data"),
        Variable("twice.1", 64, 8, accessed=True),
        Variable("twice.2", 72, 8, accessed=True),
    ]
    sites = [
        Site("", 1, kind="per-cpu", type="", symbol="hot"),
        Site("", 1, kind="global", type="", symbol="twice.1"),
        Site("", 1, kind="field", type="", symbol="cold"),
    ]
    (hot,) = accessed_variables([kernel(sites, {}, variables)])
    assert hot.name == "hot"
    assert hot.places[0] is not None and hot.places[0].neighbours == []


_VARIABLES = """
#define HOT __attribute__((section(".data..hot")))
struct table {{ long entries[{entries}]; }};
HOT int first = 1;
HOT struct table table = {{{{1}}}};
HOT long behind = 2, further = 3;
static HOT int alone[64] = {{1}};
int main(void) {{ return first + behind + further + table.entries[0] + alone[0]; }}
"""


@pytest.mark.build
def test_a_variable_that_grew_moves_what_follows(tmp_path: Path) -> None:
    need_program("gcc")
    need_program("nm", "binutils")
    kernels, expected = [], []
    for entries in (15, 16):
        (tmp_path / "v.c").write_text(_VARIABLES.format(entries=entries))
        program = tmp_path / f"v{entries}"
        flags = ["-O0", "-fno-toplevel-reorder", "-falign-functions=64"]
        subprocess.run(["gcc", *flags, "-o", program, tmp_path / "v.c"], check=True)
        listed = subprocess.run(["nm", "-nS", program], capture_output=True, text=True, check=True)
        rows = [line.split() for line in listed.stdout.splitlines() if len(line.split()) == 4]
        own = ("first", "table", "behind", "further", "alone")
        variables = [
            Variable(name, int(address, 16), int(size, 16), name == "behind", ".data..hot")
            for address, size, _, name in rows
            if name in own
        ]
        assert [one.name for one in variables] == list(own)
        sites = [Site("", 9, kind="global", type="long", symbol="behind")]
        kernels.append(kernel(sites, {}, variables))
        at = {one.name: one for one in variables}
        mine = at["behind"].address // LINE
        expected.append(
            {name for name, one in at.items() if mine in {byte // LINE for byte in _bytes(one)}}
        )
    (behind,) = accessed_variables(kernels)
    places = [place for place in behind.places if place]
    assert [{one.name for one in place.neighbours} | {"behind"} for place in places] == expected
    assert (places[1].address - places[0].address) % LINE == 8
    assert expected[0] != expected[1]


@pytest.mark.build
def test_neighbours_in_an_elf_file_are_those_that_reach_into_a_line(tmp_path: Path) -> None:
    """Also those that begin lines before it, as nm says."""
    need_program("gcc")
    need_program("nm", "binutils")
    for program in ("llvm-objdump-19", "llvm-dwarfdump-19"):
        need_program(program, "llvm-19")
    sizes = random.Random(4).choices((1, 8, 40, 60, 136, 300), k=60)
    lines = [f"char v{number}[{size}] = {{1}};" for number, size in enumerate(sizes)]
    reads = " ".join(f"use(*(volatile char *)v{number});" for number in range(0, 60, 3))
    lines += ['#define use(value) __asm__ volatile("" : : "r"((long)(value)) : "memory")']
    lines += [f"void _start(void) {{ {reads} }}", ""]
    flags = ("-O1", "-g", "-fno-toplevel-reorder")
    file, code = built("\n".join(lines), COMPILERS[0], flags, tmp_path)
    found = accesses(file, COMPILERS[0], code)
    listed = subprocess.run(["nm", "-nS", file], capture_output=True, text=True, check=True)
    rows = [row for row in map(str.split, listed.stdout.splitlines()) if len(row) == 4]
    every = [Variable(row[3], int(row[0], 16), int(row[1], 16)) for row in rows if row[2] in "dD"]
    assert len(every) == len(sizes)
    covered = {one.name: {byte // LINE for byte in _bytes(one)} for one in every}
    placed = accessed_variables([Accessed(found, np.ones(len(found.address), np.int64))])
    assert {one.name for one in placed} == {f"v{number}" for number in range(0, 60, 3)}
    reached = 0
    for variable in placed:
        (place,) = variable.places
        assert place is not None
        own = covered[variable.name]
        shared = [
            one.name for one in every if covered[one.name] & own and one.name != variable.name
        ]
        assert [one.name for one in place.neighbours] == shared
        reached += any(min(covered[name]) < min(own) for name in shared)
    assert reached > 5
