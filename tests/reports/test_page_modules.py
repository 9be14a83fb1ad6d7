"""The page's scripts as modules: what joins them, and the types of what they show."""

import json
import re
import subprocess
import sys
from collections import Counter
from graphlib import CycleError
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from synthetic import compare, example

from profdiff.evidence.findings import Findings
from profdiff.reports.page import html
from profdiff.reports.page.records import HELD

TEMPLATES = ROOT / "templates"
MODULES = sorted(TEMPLATES.glob("*/*.js"))


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_a_module_imports_and_exports_as_can_be_joined(file: Path) -> None:
    """By name, without another name, of another module; exports stand before a declaration."""
    code = re.sub(r"/\*\*.*?\*/", "", file.read_text(), flags=re.S)
    for line in re.findall(r"^import\b[^;]*;", code, re.M):
        found = re.fullmatch(r'import \{([\w\s,]+)\} from "(\.\.?/[\w/]+)\.js";', line)
        assert found, line
        assert " as " not in found[1]
        exported = (file.parent / f"{found[2]}.js").read_text()
        for name in re.findall(r"\w+", found[1]):
            assert re.search(rf"^export [^=(]*\b{name}\b", exported, re.M), name
    for line in re.findall(r"^[ \t]*export\b.*", code, re.M):
        assert re.match(r"export (async function|function|class|const|let) \w", line), line
    assert not re.search(r"\bimport(\(|\.)|^[ \t]+import\b", code, re.M)


ENTRIES = {
    "report": "\n// The page:",
    "suite": "\n// The page of a suite:",
    "atlas": "\n// The pages of an atlas:",
    "tables": "\n// The page of tables:",
}


def test_every_module_is_of_a_page() -> None:
    heading = {file: file.read_text().partition("\n")[0] for file in MODULES}
    pages = [html.joined_modules(entry) for entry in ENTRIES]
    assert all(any(page.count(line) == 1 for page in pages) for line in heading.values())


@pytest.mark.parametrize("entry", ENTRIES)
def test_joined_modules_are_one_script(entry: str) -> None:
    joined = html.joined_modules(entry)
    assert not re.search(r"^(import|export)\b", joined, re.M)
    assert "</script" not in joined.lower()
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", joined, re.M)
    assert len(names) > 40
    assert [name for name, times in Counter(names).items() if times > 1] == []
    for file in MODULES:
        heading = file.read_text().partition("\n")[0]
        assert joined.count(heading) <= 1
    # The last starts the page.
    other = "drawSections" if entry == "tables" else "searchByKeys"
    assert joined.rindex(ENTRIES[entry]) > joined.rindex(f"\nfunction {other}")


def test_a_module_stands_behind_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a/a.js").write_text(
        'import {\n  b, c,\n} from "../b/b.js";\n\nexport const a = b;\n'
    )
    (tmp_path / "b/b.js").write_text("export const b = 1;\nexport let c;\n")
    monkeypatch.setattr(html.resources, "files", lambda package: tmp_path)
    monkeypatch.setattr(html, "_ENTRIES", {"a": "a/a"})
    (tmp_path / "a/d.js").write_text("const d = 1;\n")
    assert html.joined_modules("a") == "const b = 1;\nlet c;\n\nconst a = b;\n"
    (tmp_path / "b/b.js").write_text('import { a } from "../a/a.js";\nexport const b = a;\n')
    with pytest.raises(CycleError):
        html.joined_modules("a")


def test_the_page_as_it_is_written_has_no_globals(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(html.render(Findings.of_recordings([compare(example())])))
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    functions = re.findall(r"^(?:async )?function (\w+)", html.joined_modules(), re.M)
    assert "drawTable" in functions
    shown = "names => names.filter(name => typeof window[name] === 'function')"
    assert page.evaluate(shown, functions) == []
    assert problems == []
    page.close()


@pytest.mark.parametrize("folder", sorted({file.parent.name for file in MODULES}))
def test_families_of_modules_have_no_circle(folder: str) -> None:
    """A module imports from families before its own."""
    order = ["page", "profile", "accesses", "sharing", "code", "report", "suite", "atlas", "tables"]
    known = order[: order.index(folder) + 1]
    for file in (TEMPLATES / folder).glob("*.js"):
        found = re.findall(r'^import \{[^}]*\} from "\.\./(\w+)/', file.read_text(), re.M)
        assert set(found) <= set(known), file


def test_types_are_those_of_the_records() -> None:
    """Of every record that a page holds, with all its members; none is kept by hand."""
    subprocess.run([sys.executable, ROOT / "scripts/types"], check=True)
    text = (TEMPLATES / "page.d.ts").read_text()
    typed = dict(re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.M | re.S))
    for record in HELD:
        members = re.findall(r"^  (\w+):", typed[record.__name__], re.M)
        assert members == list(record.__struct_fields__), record
    assert not re.search(r"^  \w+\?:", text, re.M)


@pytest.mark.parametrize("kind", ["js", "css", "html"])
def test_lines_have_at_most_100_columns(kind: str) -> None:
    files = list(TEMPLATES.glob(f"*/*.{kind}"))
    assert files
    long = [
        f"{file.name}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > 100
    ]
    assert long == []


def test_what_checks_the_scripts_is_locked() -> None:
    """Exact versions with hashes, from whichever registry npm is told to use."""
    wanted = json.loads((ROOT / "scripts/package.json").read_text())["devDependencies"]
    packages = json.loads((ROOT / "scripts/package-lock.json").read_text())["packages"]
    assert packages.pop("")["devDependencies"] == wanted
    for name, version in wanted.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
