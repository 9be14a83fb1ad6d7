"""The bytes of two kernels, against binutils, pahole and pyelftools."""

import csv
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyelftools_oracle
import pytest
from elftools.elf.elffile import ELFFile
from support import need_program, profdiff

KERNELS = ("v6.12.107", "v7.1.8")
# As scripts/bloat-o-meter does without them.
_SUFFIXES = re.compile(r"(?:\.(?:isra|constprop|part|cold|lto_priv|localalias)(?:\.\d+)*)+$")
_SECTION = re.compile(r"^ +\[ *\d+\] (\S*) +[A-Z_]+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) +\S+ +(\w*)")

Table = dict[str, Any]


@pytest.fixture(scope="module")
def kernels(fixture_vmlinux: Callable[[str], Path]) -> dict[str, Path]:
    return {name: fixture_vmlinux(name) for name in KERNELS}


@pytest.fixture(scope="module")
def written(
    kernels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Table], list[dict[str, str]]]:
    """The tables of JSON by name, and the rows of CSV."""
    folder = tmp_path_factory.mktemp("size")
    files = [f"{name}={path}" for name, path in kernels.items()]
    files += ["--json", str(folder / "size.json"), "--csv", str(folder / "size.csv")]
    assert not profdiff("size", *files).stdout
    document = json.loads((folder / "size.json").read_text())
    tables = {table["name"]: table for table in document["sections"][0]["tables"]}
    return tables, list(csv.DictReader((folder / "size.csv").read_text().splitlines()))


def _said(*command: object) -> str:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout


def _sizes(table: Table, column: int) -> dict[str, int]:
    """By the name that stands last, what one kernel has; absent ones are left out."""
    rows = [*table["rows"], *table["hidden"]]
    return {row[-1]: row[column] for row in rows if row[column]}


def _functions(vmlinux: Path) -> Counter[str]:
    """What nm says: of several names of one address the one that is told, suffixes folded."""
    known = defaultdict(list)
    for line in _said("nm", "-S", vmlinux).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            address, size, kind, name = words
            underscores = len(name) - len(name.lstrip("_"))
            known[address].append(("TWwt".index(kind), underscores, name, int(size, 16)))
    found = Counter[str]()
    for every in known.values():
        *_, name, in_bytes = min(every)
        found[_SUFFIXES.sub("", name)] += in_bytes
    return found


def test_functions_are_those_of_nm(
    kernels: Mapping[str, Path], written: tuple[dict[str, Table], object]
) -> None:
    table = written[0]["functions"]
    base, new = (_functions(kernels[name]) for name in KERNELS)
    changed = {name for name in base | new if base[name] != new[name]}
    assert len(changed) > 5000
    for column, known in enumerate((base, new)):
        assert _sizes(table, column) == {name: known[name] for name in changed & known.keys()}
    deltas = [abs(row[2]) for row in [*table["rows"], *table["hidden"]]]
    assert deltas == sorted(deltas, reverse=True)
    before, after = base.total(), new.total()
    up = sum(max(new[name] - base[name], 0) for name in changed)
    down = sum(max(base[name] - new[name], 0) for name in changed)
    came, went = len(new.keys() - base.keys()), len(base.keys() - new.keys())
    both = [new[name] - base[name] for name in base.keys() & new.keys()]
    grew, shrank = sum(one > 0 for one in both), sum(one < 0 for one in both)
    assert table["notes"] == [
        f"{len(changed) - 20:,} more rows in --csv and --json.",
        f"add/remove: {came:,}/{went:,} grow/shrink: {grew:,}/{shrank:,} "
        f"up/down: {up:,}/{-down:,} ({after - before:,})",
        f"Total: Before={before:,}, After={after:,}, chg {(after - before) / before:+.1%}",
    ]


def test_sections_are_those_of_readelf(
    kernels: Mapping[str, Path], written: tuple[dict[str, Table], object]
) -> None:
    for column, name in enumerate(KERNELS):
        lines = _said("readelf", "-SW", kernels[name]).splitlines()
        found = [told for line in lines if (told := _SECTION.match(line))]
        known = {one[1]: int(one[2], 16) for one in found if "A" in one[3] and int(one[2], 16)}
        assert ".text" in known
        assert ".bss" in known
        assert _sizes(written[0]["sections"], column) == known


def test_types_are_those_of_pahole(
    kernels: Mapping[str, Path], written: tuple[dict[str, Table], object]
) -> None:
    need_program("pahole", "dwarves")
    known: list[dict[str, set[int]]] = []
    for name in KERNELS:
        sizes = defaultdict(set)
        # Of the types of all units, which differ where they have one name.
        for line in _said("pahole", "-s", "-F", "dwarf", kernels[name]).splitlines():
            kind, size, *_ = line.split("\t")
            sizes[kind].add(int(size))
        known.append(sizes)
    rows = [*written[0]["types"]["rows"], *written[0]["types"]["hidden"]]
    told = {row[-1].split()[1]: row for row in rows}
    alone = {
        name
        for name in known[0].keys() & known[1].keys()
        if all(len(sizes[name]) == 1 for sizes in known)
    }
    differ = {name for name in alone if known[0][name] != known[1][name]}
    assert len(differ) > 100
    assert differ == told.keys() & alone
    for name in differ:
        assert ({told[name][0]}, {told[name][1]}) == (known[0][name], known[1][name]), name


def test_inlined_bytes_are_those_of_pyelftools(
    kernels: Mapping[str, Path], written: tuple[dict[str, Table], object]
) -> None:
    """Of the functions with the longest rows, all that is inlined on one kernel only."""
    rows = [*written[0]["inlined"]["rows"], *written[0]["inlined"]["hidden"]]
    functions = ["do_madvise", "change_protection_range", "mas_next_slot", "iomap_writepages"]
    known = [_inlined(kernels[name], functions) for name in KERNELS]
    for function in functions:
        base, new = (one[function] for one in known)
        due = {
            name: (base[name], new[name])
            for name in base | new
            if (base[name] == 0) != (new[name] == 0)
        }
        assert due
        assert {row[-2]: (row[0], row[1]) for row in rows if row[-1] == function} == due


def _inlined(vmlinux: Path, functions: list[str]) -> dict[str, Counter[str]]:
    """How many bytes of each of the functions are of each that is inlined into it."""
    with vmlinux.open("rb") as file:
        elf = ELFFile(file)
        symbols = list(elf.get_section_by_name(".symtab").iter_symbols())
        places = {
            one["st_value"]: one.name
            for one in symbols
            if one["st_info"]["type"] == "STT_FUNC" and _SUFFIXES.sub("", one.name) in functions
        }
        found: dict[str, Counter[str]] = {name: Counter() for name in functions}
        for unit in pyelftools_oracle.spans(elf, places).values():
            for root in unit.roots:
                if not root.inlined and root.name in functions:
                    below: dict[str, set[int]] = defaultdict(set)
                    _add(root, below)
                    for name, addresses in below.items():
                        if name != root.name:
                            found[root.name][name] += len(addresses)
    return found


def _add(frame: pyelftools_oracle.Frame, below: dict[str, set[int]]) -> None:
    for child in frame.children:
        for low, high in child.ranges:
            below[child.name].update(range(low, high))
        _add(child, below)


def test_csv_has_all_rows(written: tuple[dict[str, Table], list[dict[str, str]]]) -> None:
    tables, rows = written
    by_table = Counter(row["table"] for row in rows)
    assert by_table == {
        name: len(table["rows"]) + len(table["hidden"]) for name, table in tables.items()
    }
    first = next(row for row in rows if row["table"] == "functions")
    base, new, *_, name = tables["functions"]["rows"][0]
    assert (first["function"], first["size v6.12.107"], first["size v7.1.8"]) == (
        name,
        str(base),
        str(new),
    )
