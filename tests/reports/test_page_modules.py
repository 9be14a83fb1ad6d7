"""The page's scripts as modules: what joins them, and the types of what they show."""

import json
import re
from collections import Counter
from dataclasses import replace
from graphlib import CycleError
from pathlib import Path
from typing import Any

import msgspec
import pytest
from browsed_page import browser
from classes import compare as executed_code
from support import ROOT
from synthetic import compare, example
from synthetic_code import large
from synthetic_experiment import boots, found, recorded
from synthetic_joint import joint

from profdiff.evidence.findings import Findings
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.reports.page import html, packed_code
from profdiff.reports.page import parts as parts_page
from profdiff.session import manifest as m
from profdiff.views import bisection
from profdiff.views.blame import Blame
from profdiff.views.blame import Row as BlameRow
from profdiff.views.kernels import built_from
from profdiff.views.profile import seat, steps
from profdiff.views.suite import records as suite

__all__ = ["browser"]
TEMPLATES = ROOT / "templates"
MODULES = sorted(TEMPLATES.glob("*.js"))


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_a_module_imports_and_exports_as_can_be_joined(file: Path) -> None:
    """By name, without another name, from a module beside; exports stand before a declaration."""
    code = re.sub(r"/\*\*.*?\*/", "", file.read_text(), flags=re.S)
    for line in re.findall(r"^import\b[^;]*;", code, re.M):
        found = re.fullmatch(r'import \{([\w\s,]+)\} from "\./(\w+)\.js";', line)
        assert found, line
        assert " as " not in found[1]
        exported = (TEMPLATES / f"{found[2]}.js").read_text()
        for name in re.findall(r"\w+", found[1]):
            assert re.search(rf"^export [^=(]*\b{name}\b", exported, re.M), name
    for line in re.findall(r"^[ \t]*export\b.*", code, re.M):
        assert re.match(r"export (async function|function|class|const|let) \w", line), line
    assert not re.search(r"\bimport(\(|\.)|^[ \t]+import\b", code, re.M)


ENTRIES = {"report": "\n// The page:", "suite": "\n// The page of a suite:"}
ALL_ENTRIES = [*ENTRIES, "atlas"]


def test_every_module_is_of_a_page() -> None:
    heading = {file: file.read_text().partition("\n")[0] for file in MODULES}
    pages = [html.joined_modules(entry) for entry in ALL_ENTRIES]
    assert all(any(page.count(line) == 1 for page in pages) for line in heading.values())


@pytest.mark.parametrize("entry", ENTRIES)
def test_joined_modules_are_one_script(entry: str) -> None:
    joined = html.joined_modules(entry)
    assert not re.search(r"^(import|export)\b", joined, re.M)
    assert "</script" not in joined.lower()
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", joined, re.M)
    assert len(names) > 100
    assert [name for name, times in Counter(names).items() if times > 1] == []
    for file in MODULES:
        heading = file.read_text().partition("\n")[0]
        assert joined.count(heading) <= 1
    # The last starts the page.
    assert joined.rindex(ENTRIES[entry]) > joined.rindex("\nfunction startTree")


def test_a_module_stands_behind_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.js").write_text('import {\n  b, c,\n} from "./b.js";\n\nexport const a = b;\n')
    (tmp_path / "b.js").write_text("export const b = 1;\nexport let c;\n")
    (tmp_path / "c.d.ts").write_text("export interface C {}\n")
    monkeypatch.setattr(html.resources, "files", lambda package: tmp_path)
    (tmp_path / "d.js").write_text("const d = 1;\n")
    assert html.joined_modules("a") == "const b = 1;\nlet c;\n\nconst a = b;\n"
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = a;\n')
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


def test_types_name_what_the_document_has(tmp_path: Path) -> None:
    """Every interface of ``document.d.ts`` has the fields of its part of a document."""
    text = (TEMPLATES / "document.d.ts").read_text()
    typed = {
        name: set(re.findall(r"^  (\w+):", body, re.M))
        for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.M | re.S)
    }
    sizes = [m.Point({"size_kib": size}, 1, 1000) for size in ("1", "10")]
    timed = found(recorded({label: 2 * [boots(100.0, 5, 0.01)] for label in "ab"}, points=sizes))
    shown = replace(timed, comparisons=[compare(example())])
    built = html.session.build(shown)
    points = html.points.page_points(shown, built, [])
    code = packed_code.packed(large(5))
    blame = msgspec.to_builtins(
        Blame(
            schema="profdiff.blame/1",
            base="base",
            new="new",
            revisions={},
            ops=None,
            delta=1,
            rows=[
                BlameRow(
                    kind="no-line",
                    commit=None,
                    subject="",
                    author_date=None,
                    instructions=1,
                    added=1,
                    removed=0,
                    effect=1,
                    functions=[],
                    suspects=[],
                    together=[],
                )
            ],
            renamed=[],
            notes=[],
        )
    )
    document = json.loads(
        html.session.encode(
            built,
            charts=html.charts.figures(shown),
            points=points,
            code=html.page_code.page_code(shown).held,
            blame=blame,
            joint=None,
            parts={},
        )
    )
    both = parts_page.joint(PartsFindings.of(joint(tmp_path / "S")))
    (metric,) = document["metrics"]
    rows = {label: [(row, "nop") for row in rows] for label, rows in example().items()}
    exact = html.session.build(Findings.of_recordings([executed_code(rows)]))
    counted = json.loads(html.session.encode(exact))["metrics"][0]
    parts = {
        "Report": document,
        "Kernel": document["kernels"][0],
        "Facts": document["facts"],
        "Experiment": document["experiment"],
        "ExperimentTable": document["experiment"]["tables"][0],
        "Run": document["runs"][0],
        "Stacks": document["stacks"][0],
        "Metric": metric,
        "FunctionRow": metric["functions"][0],
        "Classes": counted["classes"],
        "KernelCode": counted["code"],
        "Chart": document["charts"][0],
        "Point": document["points"][0],
        "Joint": both,
        "JointTable": both["tables"][0],
        "Blame": blame,
        "BlameRow": blame["rows"][0],
        "HeldCode": document["code"],
        "FunctionCode": code,
        "CodeColumns": code["kernels"]["new"],
        "CodeLines": code["lines"],
        "LineColumns": code["lines"]["kernels"]["new"],
    }
    records = {
        "Bisection": bisection.Bisection,
        "FurtherStep": bisection.Step,
        "Hole": built_from.Hole,
        "Revision": bisection.Revision,
        "SeatFunction": seat.SeatFunction,
        "Step": steps.Step,
        "StepFunction": steps.StepFunction,
    }
    parts |= {name: one.__struct_fields__ for name, one in records.items()}
    assert typed == {name: set(part) for name, part in parts.items()}
    assert all(set(table) == set(both["tables"][0]) for table in both["tables"])


def test_types_of_a_suite_name_what_its_report_has() -> None:
    text = (TEMPLATES / "suite.d.ts").read_text()
    typed = {
        name: set(re.findall(r"(?:^  |; |\{ )(\w+):", body, re.M))
        for name, body in re.findall(
            r"^export interface (Suite(?!Page)\w+) (\{.*?\}$)", text, re.M | re.S
        )
    }
    records = {
        "SuiteReport": suite.SuiteDocument,
        "SuiteKernel": suite.SuiteKernel,
        "SuiteChange": suite.SuiteChange,
        "SuiteMissing": suite.SuiteMissing,
        "SuiteCellFunction": suite.SuiteCellFunction,
        "SuiteCell": suite.SuiteCell,
        "SuiteFunction": suite.SuiteFunction,
        "SuiteSummary": suite.SuiteSummary,
    }
    fields = {name: set(one.__struct_fields__) for name, one in records.items()}
    fields["SuiteReport"] |= set(suite.SuiteNoise.__struct_fields__)
    fields["SuiteReport"] |= set(suite.SuiteDamage.__struct_fields__)
    assert typed == fields


@pytest.mark.parametrize("kind", ["js", "ts", "css", "html"])
def test_lines_have_at_most_100_columns(kind: str) -> None:
    files = list(TEMPLATES.glob(f"*.{kind}"))
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
