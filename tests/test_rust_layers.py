"""No circles among the files of a Rust crate: each can be read, and tested, before what uses it."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support import ROOT

# A module by its path in the crate: () is lib.rs, ("dwarf",) is dwarf/mod.rs or dwarf.rs.
Module = tuple[str, ...]
Graph = dict[Module, set[Module]]

MANIFESTS = ("symbolization/*/Cargo.toml", "collectors/**/Cargo.toml")
CRATES = [path.parent for pattern in MANIFESTS for path in sorted(ROOT.glob(pattern))]
# What it exports is the module's own, not something that it uses.
EXPORTS = re.compile(r"\bpub(?:\(\w+\))? use ([^;]+);")
USES = re.compile(r"\b(?:use ([^;]+);|((?:crate|super)(?:::\w+)+))")


def _sources(folder: Path) -> dict[Module, str]:
    """The text of each module, without comments and tests."""
    found = {}
    for path in sorted(folder.rglob("*.rs")):
        name = path.relative_to(folder).with_suffix("").parts
        text = re.sub(r"//.*", "", path.read_text()).split("#[cfg(test)]")[0]
        found[name[:-1] if name[-1] in ("mod", "lib") else name] = text
    return found


def _leaves(tree: str) -> Iterator[list[str]]:
    """The paths of a tree like ``a::{b, c::{self, d}}``."""
    head, brace, rest = tree.partition("{")
    start = [part.strip() for part in head.split("::") if part.strip() not in ("", "self")]
    if not brace:
        yield start
        return
    depth, branch = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            yield from ([*start, *leaf] for leaf in _leaves(branch))
            branch = ""
        else:
            branch += letter


def _paths(module: Module, text: str) -> Iterator[Module]:
    """What a module names of its crate, as paths from the crate's root."""
    for tree in USES.findall(text):
        for path in _leaves(tree[0] or tree[1]):
            if path[:1] == ["crate"]:
                yield tuple(path[1:])
            elif path[:1] == ["super"]:
                up = path.count("super")
                yield (*module[: len(module) - up], *path[up:])


def imports(folder: Path) -> Graph:
    """By module: the modules that define what it names."""
    sources = _sources(folder)
    exported: dict[Module, Module] = {}
    for module, text in sources.items():
        for tree in EXPORTS.findall(text):
            for leaf in _leaves(tree):
                exported[*module, leaf[-1]] = (*module, *leaf)
        sources[module] = text = EXPORTS.sub("", text)
    graph: Graph = {module: set() for module in sources}
    for module, text in sources.items():
        children = [other[-1] for other in sources if other and other[:-1] == module]
        named = set(_paths(module, text))
        named |= {
            (*module, child) for child in children if re.search(rf"(?<![\w:]){child}::", text)
        }
        for path in named:
            while path in exported:
                path = exported[path]
            while path not in sources or path == module:
                if not path:
                    break
                path = path[:-1]
            if path != module:
                graph[module].add(path)
    return graph


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: str(crate.relative_to(ROOT)))
def test_no_circles(crate: Path) -> None:
    graph = imports(crate / "src")
    assert graph
    # The folders of a crate, too.
    rooms: Graph = {}
    for module, used in graph.items():
        rooms.setdefault(module[:1], set()).update(other[:1] for other in used)
    rooms = {room: used - {room} for room, used in rooms.items()}
    for each in (graph, rooms):
        try:
            TopologicalSorter(each).prepare()
        except CycleError as error:
            pytest.fail(" <- ".join("/".join(module) or "lib" for module in error.args[1]))
