"""The layer rule: a module imports only what lies below it."""

import ast
from pathlib import Path

import pytest
from support import ROOT

# Lowest first. A name stands for the module and everything in it.
LAYERS = [
    ["profdiff.errors", "profdiff.bounded", "profdiff.temporary", "profdiff.terminal"],
    ["profdiff.workload_metrics", "profdiff.statistics", "profdiff.condition"],
    ["profdiff.atomic", "profdiff.cache", "profdiff.console"],
    ["profdiff.collectors", "profdiff.symbolization", "profdiff.templates"],
    ["profdiff.manifest", "profdiff.kernel_config"],
    ["profdiff.points"],
    ["profdiff.session"],
    ["profdiff.session_symbols", "profdiff.facts"],
    ["profdiff.function_identity", "profdiff.stack_table", "profdiff.metric"],
    ["profdiff.profile"],
    [
        "profdiff.exact_profile",
        "profdiff.sampled_profile",
        "profdiff.comparison",
        "profdiff.session_facts",
    ],
    ["profdiff.session_comparison", "profdiff.importing", "profdiff.state", "profdiff.evidence"],
    ["profdiff.findings", "profdiff.function_verdicts"],
    ["profdiff.measured_change"],
    ["profdiff.reports"],
    ["profdiff.mail"],
    ["profdiff.progress"],
    ["profdiff.recording"],
    ["profdiff.commands"],
    ["profdiff.cli"],
    ["profdiff.__main__"],
]


def _layer(module: str) -> int | None:
    for level, names in enumerate(LAYERS):
        if any(module == name or module.startswith(name + ".") for name in names):
            return level
    return None


def _modules() -> list[tuple[str, Path]]:
    found = []
    for folder, package in (
        ("profdiff", "profdiff"),
        ("collectors", "profdiff.collectors"),
        ("symbolization", "profdiff.symbolization"),
        ("templates", "profdiff.templates"),
    ):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "profdiff" and parts[0] in ("collectors", "symbolization", "templates"):
                continue
            name = ".".join([package, *parts]).removesuffix(".__init__")
            found.append((name, path))
    return found


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in names if name.startswith("profdiff.")}


@pytest.mark.parametrize(
    ("module", "path"), _modules(), ids=lambda value: str(value).split("/")[-1]
)
def test_imports_only_what_lies_below(module: str, path: Path) -> None:
    if module == "profdiff":
        return
    level = _layer(module)
    assert level is not None, f"{module} has no layer: give it one in LAYERS"
    for name in _imports(path):
        if name.startswith("profdiff.__version__"):
            continue
        other = _layer(name)
        assert other is not None, f"{module} imports {name}, which has no layer"
        family = module.split(".")[1] == name.split(".")[1]
        assert other < level or family, f"{module} imports {name}, which does not lie below it"


def test_no_file_is_longer_than_400_lines() -> None:
    files = [path for _, path in _modules()]
    files += [
        path
        for pattern in ("**/*.rs", "templates/*.js", "templates/*.css")
        for path in ROOT.glob(pattern)
        if not {"target", ".venv", "build"} & set(path.relative_to(ROOT).parts)
    ]
    assert files
    too_long = {
        str(path.relative_to(ROOT)): count
        for path in files
        if (count := path.read_text().count("\n")) > 400
    }
    assert not too_long
