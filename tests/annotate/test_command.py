"""``profdiff annotate`` as a user runs it: on recorded and on imported sessions, and its errors."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import ROOT, error_line, profdiff, profile_pair
from synthetic_session import exact_session

FUNCTION = "change_pte_range"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the two fixture profiles, in a folder of its own."""
    folder = tmp_path_factory.mktemp("imported") / "perf.profdiff"
    profdiff("import", *profile_pair(), "-o", folder)
    return folder


def annotated(*arguments: str | Path) -> dict[str, Any]:
    """The JSON of an annotation, which adds up."""
    data: dict[str, Any] = json.loads(profdiff("annotate", *arguments, "--json", "-").stdout)
    jsonschema.validate(data, json.loads((ROOT / "profdiff/annotation.schema.json").read_text()))
    for label, whole in data["self"].items():
        for rows in (data["rows"], data["lines"]):
            assert sum(row["count"].get(label, 0) for row in rows) == whole
    for label, split in data["split"].items():
        delta = data["self"][label] - data["self"][data["labels"][0]]
        assert split["same"] + split["other"] == delta
    return data


@pytest.mark.guest
def test_the_counts_are_those_of_the_report(recorded: Path) -> None:
    report = json.loads(profdiff("report", recorded, "--json", "-").stdout)
    (metric,) = report["metrics"]
    largest = sorted(metric["functions"], key=lambda one: -max(one["self"].values()))
    kernel = [one for one in largest if one["side"] == "kernel" and not one["namesakes"]]
    for function in kernel[:6]:
        data = annotated(recorded, function["name"])
        assert data["self"] == function["self"]
        assert data["exact"] and data["samples"] is None


@pytest.mark.guest
def test_the_text_of_a_recorded_session(recorded: Path, tmp_path: Path) -> None:
    shown = profdiff("annotate", recorded, FUNCTION).stdout
    assert shown.startswith(f"{FUNCTION}: instructions per op (40,000 ops)\n")
    assert "the same code, executed" in shown and "other code" in shown
    assert re.search(r"taken \d+\.\d%", shown) and "▶" in shown
    assert re.search(r"line \d+/\d+", shown)
    assert max(map(len, shown.splitlines())) <= 100
    mail = profdiff("annotate", recorded, FUNCTION, "--width", "75", "--ascii").stdout
    assert mail.isascii() and max(map(len, mail.splitlines())) <= 75
    profdiff("annotate", recorded, FUNCTION, "--text", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == shown


@pytest.mark.guest
def test_a_function_that_the_base_does_not_execute(recorded: Path) -> None:
    shown = profdiff("annotate", recorded, "commit_anon_folio_batch").stdout
    assert "\nnote: not executed on base\n" in shown
    data = annotated(recorded, "commit_anon_folio_batch")
    assert data["self"]["base"] == 0 < data["self"]["new"] == data["split"]["new"]["other"]


@pytest.mark.guest
def test_kernels_are_chosen(recorded: Path) -> None:
    data = annotated(recorded, FUNCTION, "--kernel", "new")
    assert data["labels"] == ["new"] and data["split"] == {}
    swapped = annotated(recorded, FUNCTION, "--kernel", "new", "--kernel", "base")
    assert swapped["labels"] == ["new", "base"]
    assert swapped["self"]["new"] == data["self"]["new"]
    line = error_line(profdiff("annotate", recorded, FUNCTION, "--kernel", "nwe", status=2))
    assert "--kernel nwe" in line and "did you mean new?" in line


@pytest.mark.guest
def test_a_place(recorded: Path) -> None:
    data = annotated(recorded, "commit_anon_folio_batch")
    chain = data["places"][0]["chain"]
    assert len(chain) > 1
    wide = ("--ascii", "--width", "300")
    shown = profdiff("annotate", recorded, "commit_anon_folio_batch", *wide).stdout
    assert " -> ".join(chain) in shown
    for place in (chain[0], " -> ".join(chain), " → ".join(chain), ">".join(chain)):
        part = annotated(recorded, "commit_anon_folio_batch", "--inlined-at", place)
        assert part["self"] == data["self"]
    arguments = ["annotate", recorded, "commit_anon_folio_batch", "--inlined-at", "do_exit"]
    assert "do_exit" in error_line(profdiff(*arguments, status=2))


@pytest.mark.guest
def test_sources_of_another_version(recorded: Path, tmp_path: Path) -> None:
    tree = tmp_path / "linux"
    tree.mkdir()
    (tree / "Makefile").write_text("VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 7\nEXTRAVERSION =\n")
    for spec, told in (
        (f"base={tree}", "5.10.7"),
        (f"base={tmp_path / 'none'}", "none"),
        (f"nobody={tree}", "nobody"),
        (str(tree), "LABEL=DIR"),
        ("base=", "LABEL=DIR"),
    ):
        line = error_line(profdiff("annotate", recorded, FUNCTION, "--source", spec, status=2))
        assert told in line


@pytest.mark.kernel
def test_a_file_of_another_version(imported: Path, tmp_path: Path) -> None:
    """Rather none than wrong lines."""
    tree = tmp_path / "linux"
    (tree / "mm").mkdir(parents=True)
    (tree / "mm/mprotect.c").write_text("int unrelated;\n" * 2_000)
    asked = ("annotate", imported, FUNCTION, "--source", f"base={tree}")
    line = error_line(profdiff(*asked, status=2))
    assert "mm/mprotect.c" in line and "is not what base was built from" in line
    (tree / "mm/mprotect.c").write_text("int unrelated;\n")
    assert "it has 1 line, and" in error_line(profdiff(*asked, status=2))
    (tree / "mm/mprotect.c").unlink()
    assert "name the top of the tree that" in error_line(profdiff(*asked, status=2))


@pytest.mark.kernel
def test_samples(imported: Path) -> None:
    data = annotated(imported, FUNCTION)
    assert not data["exact"]
    assert data["self"].keys() == {"base", "new"}
    for label, samples in data["samples"].items():
        assert samples == sum(row["samples"].get(label, 0) for row in data["rows"]) > 0
    shown = profdiff("annotate", imported, FUNCTION).stdout
    assert " samples\n" in shown
    assert re.search(r"\d%  +[+-][\d,]+  +\d+/\d+  ", shown)


@pytest.mark.kernel
def test_the_newest_session_is_the_default(imported: Path) -> None:
    inside = profdiff("annotate", FUNCTION, cwd=imported.parent).stdout
    assert inside == profdiff("annotate", imported, FUNCTION).stdout


@pytest.mark.kernel
def test_by_line(imported: Path) -> None:
    shown = profdiff("annotate", imported, FUNCTION, "--by", "line").stdout
    assert re.search(r"  line \d+/\d+\n", shown)
    assert "%rbp" not in shown


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a FUNCTION"),
        (["SESSION"], "name a FUNCTION of it: profdiff annotate"),
        ([FUNCTION, "SESSION"], "SESSION comes first"),
        (["nowhere", FUNCTION], "nowhere"),
        (["SESSION", ""], "FUNCTION is empty"),
        (["SESSION", FUNCTION, "--inlined-at", ""], "--inlined-at is empty"),
        (["SESSION", "commit_anon_folio_batch", "--kernel", "base"], "not executed on base"),
        (["SESSION", "change_pte_rnge"], "did you mean change_pte_range"),
        (["SESSION", FUNCTION, "--metric", "cycles"], "--metric cycles: the session has"),
        (["SESSION", FUNCTION, "--at", "x=1"], "--at x=1: there is one point alone"),
        (["SESSION", FUNCTION, "--per-op"], "--per-op: the number of ops is unknown"),
        (["SESSION", FUNCTION, "--inlined-at", "kfree"], "kfree"),
        (["SESSION", FUNCTION, "--kernel", "x"], "--kernel x: no kernel 'x' has a result"),
        (["SESSION", FUNCTION, "--source", "x=."], "--source x=.: no kernel 'x' has a result"),
        (["SESSION", FUNCTION, "--text", "--json", "-"], "only one file"),
        (["SESSION", FUNCTION, "--json", "no/such/folder"], "cannot write no/such/folder"),
        (["SESSION", FUNCTION, "--width", "20"], "--width"),
    ],
)
def test_errors(imported: Path, arguments: list[str], told: str) -> None:
    words = [str(imported) if word == "SESSION" else word for word in arguments]
    result = profdiff("annotate", *words, status=2)
    assert told in error_line(result)
    assert result.stdout == ""


@pytest.mark.kernel
def test_a_tree_that_is_none_or_does_not_fit(imported: Path, tmp_path: Path) -> None:
    def line(tree: Path) -> str:
        return error_line(
            profdiff("annotate", imported, FUNCTION, "--source", f"base={tree}", status=2)
        )

    assert "name the top of the tree" in line(tmp_path)
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/mprotect.c").write_text("int x;\n" * 9)
    assert "has 9 lines, and the debug information names line" in line(tmp_path)
    (tmp_path / "mm/mprotect.c").write_text("int x;\n" * 9_000)
    assert re.search(r"it has no \w+ in line \d+", line(tmp_path))


@pytest.mark.slow
def test_no_session_here(tmp_path: Path) -> None:
    result = profdiff("annotate", FUNCTION, cwd=tmp_path, status=2)
    assert "no session in this folder" in error_line(result)


def test_a_session_without_code(tmp_path: Path) -> None:
    """An old one, whose debug ELF is gone: what is known is shown, and why there is no more."""
    exact_session(tmp_path / "s")
    data = annotated(tmp_path / "s", FUNCTION)
    assert data["self"] == {"base": 1_144_320, "new": 1_343_600}
    assert data["notes"]
    assert "note: " in profdiff("annotate", tmp_path / "s", FUNCTION).stdout


def completed(line: str, typed: str, cwd: Path) -> list[str]:
    """What bash is offered for ``typed`` behind ``line``."""
    known = {"_PROFDIFF_COMPLETE": "bash_complete", "COMP_WORD": typed}
    result = profdiff(env={**known, "COMP_LINE": f"profdiff annotate {line}{typed}"}, cwd=cwd)
    return [one.partition(",")[2] for one in result.stdout.splitlines()]


@pytest.mark.kernel
def test_what_a_shell_completes(imported: Path) -> None:
    here = imported.parent
    assert completed("", "perf", here) == ["perf.profdiff"]
    assert completed(f"{imported} {FUNCTION} --kernel ", "", here) == ["base", "new"]
    assert completed(f"{imported} {FUNCTION} --source ", "n", here) == ["new="]
    assert completed(f"{FUNCTION} --source new=", "perf", here) == ["perf.profdiff/"]
    assert "cpu-clock" in completed(f"{FUNCTION} --metric ", "c", here)


@pytest.mark.guest
def test_functions_are_completed(recorded: Path) -> None:
    here = recorded.parent
    assert FUNCTION in completed("", "change_p", here)
    assert FUNCTION in completed(f"{recorded.name} ", "change_p", here)
    assert "change_protection" in completed(f"{FUNCTION} --inlined-at ", "change_prot", here)


@pytest.mark.kernel
def test_numpy_ma_is_not_loaded(imported: Path) -> None:
    """It takes a tenth of the command's time."""
    child = (
        "import sys; from profdiff.cli import cli; cli.main(sys.argv[1:], standalone_mode=False); "
        "assert 'profdiff.views.annotation.making' in sys.modules; "
        "assert 'numpy.ma' not in sys.modules"
    )
    words = [sys.executable, "-c", child, "annotate", str(imported), FUNCTION]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
