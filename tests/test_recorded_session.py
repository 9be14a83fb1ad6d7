"""A session that was recorded long ago gives the numbers that it gave then."""

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, error_line, profdiff
from tars import unpack_session

FIXTURE = ROOT / "tests/fixtures/session"
# What the document has since then.
LATER = ("beside", "classes", "code", "idle", "seats", "source", "steps", "variant")
# A reason is the only sentence among the results; its numbers stay, its wording need not.
REASON = re.compile(r"(\d+) against (\d+) boots reach p = (\S+) at the smallest")
REWORDED = r"with \1 boots against \2, p cannot be below \3"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "old.profdiff"
    unpack_session(folder)
    return folder


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("profdiff.session/2", "record again, or convert it with scripts/convert-recordings"),
        ("profdiff.session/4", "use a newer one"),
        ("profdiff.session/10", "use a newer one"),
    ],
)
def test_a_schema_that_is_not_read_says_who_recorded_it(
    tmp_path: Path, schema: str, told: str
) -> None:
    manifest = {"schema": schema, "profdiff": "0.0.7"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    said = error_line(profdiff("report", tmp_path, status=2))
    assert f"has schema {schema}, recorded by profdiff 0.0.7; this one" in said
    assert f": {told}" in said


SAMPLED = ("cycles", "cpu-clock")


def comparable(document: dict[str, Any], results: Any) -> dict[str, Any]:
    """The document with stacks named by their functions: how they are numbered may change."""
    metrics = []
    for metric in document["metrics"]:
        table = document["stacks"][metric["stacks"]]
        functions = [
            (row["name"], row["object"], row["file"], row["side"]) for row in metric["functions"]
        ]
        functions += [(row["reason"], row["side"]) for row in table["unnamed"]]
        chains: list[tuple[Any, ...]] = []
        for parent, function in zip(table["parent"], table["function"], strict=True):
            chains.append((*(chains[parent] if parent >= 0 else ()), functions[function]))
        columns = {"counts": metric["counts"], "calls": metric["calls"] or {}}
        columns["inlined"] = table["inlined"]
        rows = {
            f"{name} of {label}": {
                repr(chain): value for chain, value in zip(chains, column, strict=True) if value
            }
            for name, by_label in columns.items()
            for label, column in by_label.items()
        }
        metrics.append(
            {
                **{name: value for name, value in metric.items() if name not in (*columns, *LATER)},
                **rows,
                "stacks": None,
                # What samples tell is said in words, which may change. That functions have other
                # names was not told then.
                "functions": sorted(
                    (
                        {**row, "marks": sorted(row["marks"]) * (metric["metric"] in SAMPLED)}
                        for row in metric["functions"]
                    ),
                    key=lambda row: json.dumps(row, sort_keys=True),
                ),
            }
        )
    for result in results:
        assert not result.pop("state", 0)
        for kernel in result["kernels"]:
            # Nor were iterations counted apart.
            assert (kernel["change"] or {}).pop("iterated", None) is None
            # Nothing was seen in varied states then.
            assert not kernel.pop("states", {})
            assert (kernel["change"] or {}).pop("states", 1) == 1
            # A guest clock's small changes were called exact then.
            floor = (kernel["change"] or {}).pop("tick_floor", None)
            if result["virtual_time"] and floor:
                kernel["change"] |= {"verdict": "exact", "reason": ""}
            # A sentence as well.
            if kernel["change"]:
                kernel["change"]["reason"] = bool(kernel["change"]["reason"])
    kernels = [
        {name: value for name, value in kernel.items() if name not in LATER}
        for kernel in document["kernels"]
    ]
    return {"kernels": kernels, "metrics": metrics, "results": results}


def as_counted(document: dict[str, Any]) -> dict[str, Any]:
    """What was called ns of a guest's clock, which counts instructions, by their name."""
    for metric in document["metrics"]:
        if metric["unit"] == "ns":
            metric["unit"] = "instructions (guest clock)"
    for result in document["results"]:
        if result["virtual_time"]:
            what, slash, each = result["unit"].partition("/")
            assert what == "ns"
            result["unit"] = f"instructions{slash}{each} (guest clock)"
            if result["metric"] == "wall-time":
                result["metric"] = "whole-command"
    return document


@pytest.mark.slow
@pytest.mark.parametrize("size", ["4", "40"])
def test_the_numbers_stay(session: Path, size: str) -> None:
    kept = lzma.decompress((FIXTURE / f"size_kib-{size}.json.xz").read_bytes()).decode()
    then = as_counted(json.loads(REASON.sub(REWORDED, kept)))
    report = profdiff("report", session, "--at", f"size_kib={size}", "--json", "-").stdout
    now = json.loads(report)
    expected = comparable(then, then["results"])
    found = comparable(now, now["experiment"]["results"])
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == value, name


@pytest.mark.slow
def test_it_has_a_text_report_and_a_page(session: Path, tmp_path: Path) -> None:
    shown = profdiff("report", session, "--at", "size_kib=40").stdout
    for told in ("1.312 times", "+24,943", "28.23", "52.49", "reproduced bit for bit"):
        assert told in " ".join(shown.split())
    profdiff("report", session, "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 50_000
