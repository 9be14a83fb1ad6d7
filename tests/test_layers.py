"""The layer rule: a room imports only rooms below it, and a folder's members in no circle."""

import ast
import tomllib
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support import ROOT

# Lowest first; rooms of one row do not import each other. docs/design.md draws the same.
ROOMS = [
    ["base"],
    ["symbolization", "templates"],
    ["collectors", "sources"],
    ["session"],
    ["profile"],
    ["evidence", "recording"],
    ["shapes"],
    ["topics", "forms"],
    ["checks"],
    ["bisection"],
    ["views"],
    ["reports"],
    ["mail"],
    ["api"],
    ["mcp"],
    ["commands"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, row in enumerate(ROOMS) for room in row}
# Functions that load a module by its name.
LOADS = {"import_module", "__import__"}
TOP = ("base", "collectors", "symbolization", "templates")


@cache
def modules() -> dict[tuple[str, ...], Path]:
    """Every module by its name's parts below ``profdiff``; a package is its folder."""
    found = {}
    for folder in ("profdiff", *TOP):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "profdiff" and parts[0] in TOP:
                continue  # a link to the folder, which is read as itself
            name = parts if folder == "profdiff" else (folder, *parts)
            found[name[:-1] if name[-1] == "__init__" else name] = path
    del found[()]
    return found


def loaded(call: ast.Call) -> set[tuple[str, ...]]:
    """The modules that a call may load by name: all that begin as an f-string does."""
    name = call.args[0]
    whole = isinstance(name, ast.Constant)
    start = name.values[0] if isinstance(name, ast.JoinedStr) else name
    assert isinstance(start, ast.Constant), f"nobody can tell what {ast.unparse(call)} loads"
    names = {other: ".".join(("profdiff", *other)) for other in modules()}
    return {
        other
        for other, known in names.items()
        if known == start.value or (known.startswith(start.value) and not whole)
    }


@cache
def imports(module: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The modules that one imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{'.'.join(module)} has a relative import"
            names |= {(*node.module.split("."), alias.name) for alias in node.names}
        elif isinstance(node, ast.Call) and LOADS & {*ast.unparse(node.func).split(".")}:
            names |= {("profdiff", *other) for other in loaded(node)}
    inside = {name[1:] for name in names if name[0] == "profdiff"}
    # A name is a module's, or a module itself.
    return {n if n in modules() else n[:-1] for n in inside} & modules().keys() - {module}


def test_the_folders_are_found() -> None:
    assert {module[0] for module in modules()} - LEVEL.keys() == set()
    assert len(modules()) > 150


def test_modules_that_are_loaded_by_name_are_seen() -> None:
    commands = {module for module in modules() if module[0] == "commands" and len(module) > 1}
    assert commands and commands < imports(("cli",))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("import_module('profdiff.cli')", {("cli",)}),
        ("importlib.import_module(f'profdiff.session.hel{x}')", {("session", "held")}),
        ("import_module('numpy')", set()),
    ],
)
def test_what_a_call_loads(call: str, expected: set[tuple[str, ...]]) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert loaded(node) == expected


@pytest.mark.parametrize("module", modules(), ids=".".join)
def test_a_room_imports_only_rooms_below_it(module: tuple[str, ...]) -> None:
    for other in imports(module):
        assert other[0] == module[0] or LEVEL[other[0]] < LEVEL[module[0]], (
            f"{'.'.join(module)} imports {'.'.join(other)}, which does not lie below it"
        )


def folders() -> list[tuple[str, ...]]:
    """Every folder that holds modules."""
    return sorted({module[:depth] for module in modules() for depth in range(1, len(module))})


@pytest.mark.parametrize("folder", folders(), ids=".".join)
def test_members_of_a_folder_import_in_no_circle(folder: tuple[str, ...]) -> None:
    """A member is a module, or a folder with all that is in it."""
    depth = len(folder)
    graph: dict[str, set[str]] = {}
    for module in modules():
        if module[:depth] == folder and len(module) > depth:
            near = {other[depth] for other in imports(module) if other[:depth] == folder != other}
            graph.setdefault(module[depth], set()).update(near - {module[depth]})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"in {'.'.join(folder)}: {' -> '.join(error.args[1])}")


def test_no_file_is_longer_than_400_lines() -> None:
    files = [
        path
        for pattern in ("**/*.rs", "templates/*/*.js", "templates/*/*.css")
        for path in ROOT.glob(pattern)
        if not {"target", ".venv", "build", "node_modules"} & set(path.relative_to(ROOT).parts)
    ]
    assert files
    too_long = {
        str(path.relative_to(ROOT)): count
        for path in [*files, *modules().values()]
        if (count := path.read_text().count("\n")) > 400
    }
    assert not too_long


# What is not counted: no product, or not ours.
APART = {"tests", "benches", "fuzz", "target", "build", "node_modules"}
BUDGET = ROOT / "tests/product_lines.toml"


def product_lines() -> Counter[str]:
    """Lines of source by folder, without tests and benchmarks."""
    lines: Counter[str] = Counter()
    for top in ("profdiff", *TOP):
        for path in (ROOT / top).rglob("*"):
            first, *folders = path.relative_to(ROOT).parts
            linked = first == "profdiff" and folders[0] in TOP
            source = path.suffix in (".py", ".js", ".rs", ".c", ".h") and path.is_file()
            if source and not linked and not APART & {*folders}:
                folder = f"{first}/{folders[0]}" if len(folders) > 1 else first
                lines[folder] += path.read_text().count("\n")
    return lines


def test_product_lines_are_within_their_budget() -> None:
    budget = tomllib.loads(BUDGET.read_text())
    over = {
        folder: f"{lines:,} lines of {budget.get(folder, 0):,}"
        for folder, lines in sorted(product_lines().items())
        if lines > budget.get(folder, 0)
    }
    assert not over, f"remove lines, or raise {BUDGET.name} and say what the lines bought: {over}"
