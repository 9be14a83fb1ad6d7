"""The modules beside a Python script that it imports, which travel into guests with it."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.python import Python

_MAX_SOURCE = 4 << 20


def add_modules(python: Python, script: Path, guest_path: str, files: GuestFiles) -> None:
    """The modules beside a script that it imports, and theirs. Raises InputError for one that is
    not there, and in no standard library, when it starts."""
    beside = script.parent
    folder = os.path.dirname(guest_path)  # noqa: PTH120 - a path of the guest's
    pending, seen = [script], {script}
    while pending:
        for name, needed in _imports(pending.pop()):
            if not python.standard or name in python.standard or name.startswith("_"):
                continue
            module, package = beside / f"{name}.py", beside / name
            found = [module] if module.is_file() else sorted(package.rglob("*.py"))
            for path in found:
                if path not in seen:
                    seen.add(path)
                    pending.append(path)
                    files.add_any(path, f"{folder}/{path.relative_to(beside)}")
            at = (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")
            given = any(path in files.by_path for path in at)
            given = given or any(path.startswith(f"{folder}/{name}.") for path in files.by_path)
            if needed and not found and not given:
                raise InputError(_missing(python, script, name))


def _missing(python: Python, script: Path, name: str) -> str:
    says = f"{script} imports {name}, which is not in Python's standard library"
    for folder in python.path:
        for place in (f"{folder}/{name}", f"{folder}/{name}.py"):
            if python.root.folder(place) or python.root.find(place):
                path = python.root.told(place)
                return f"{says}: add --file {path} (and what it imports itself)"
    return f"{says}, nor beside it, nor installed for {python.program}: install it, and use --file"


def _imports(source: Path) -> Iterator[tuple[str, bool]]:
    """The top-level names that a source imports; whether it does so unconditionally, when it
    starts. None of what Python cannot read: the interpreter says what is wrong with it."""
    try:
        if source.stat().st_size > _MAX_SOURCE:
            return
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    first = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        needed = id(node) in first
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], needed
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], needed
