"""``profdiff options``: from a revision and names of options to what each costs; and what of it is
done again."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import small_linux
from made_repository import Made, MadeRepository, make
from support import EXAMPLE, RESTORED, error_line, need_kernel, profdiff, shared_states

import profdiff as profdiff_api

KCONFIG = "".join(
    f'config {name}\n\tbool "{name}"\n' for name in ("LARGE", "BROKEN", "SWAP", "PROC_FS")
)
QUICK = ["--no-observe", "--vary-state", "0", "--jobs", "2", *RESTORED]
COMMAND = ["--ops", "20", "--", EXAMPLE, "40", "{ops}"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeRepository:
    """With CONFIG_LARGE, its kernel is v6.18.15 in place of v6.12.107."""
    small_linux.kernels(monkeypatch)
    need_kernel("v6.18.15")
    monkeypatch.setenv("PROFDIFF_CACHE", str(shared_states(tmp_path / "cache")))
    lines = "CONFIG_LARGE=y v6.18.15", "CONFIG_BROKEN=y broken"
    tree = small_linux.tree("v6.12.107", *lines, Kconfig=KCONFIG)
    return make(tmp_path / "linux", {"base": Made(tree)})


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(document: Any, name: str) -> list[dict[str, Any]]:
    (section,) = document["sections"]
    found = next(one for one in section["tables"] if one["name"] == name)
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


@pytest.mark.guest
def test_options_are_built_recorded_and_told_apart(
    repository: MadeRepository, tmp_path: Path
) -> None:
    base = f"git:{repository.folder}@base"
    words = ["options", base, "--toggle", "LARGE,BROKEN,SWAP=y,PROC_FS,NOWHERE"]
    plan = profdiff(*words, "--dry-run", *QUICK, *COMMAND, cwd=tmp_path)
    assert "3 builds: no build like these is known" in plan.stdout
    assert not list(tmp_path.glob("*.profdiff"))

    made = profdiff(*words, *QUICK, "-o", "o.profdiff", *COMMAND, cwd=tmp_path)
    for line in (
        "LARGE=y: changes nothing else",
        "SWAP=y: refused: the base has SWAP=y",
        "NOWHERE=y: refused: the source has no such option",
    ):
        assert made.stderr.count(line) == 1, made.stderr
    assert re.search(r"^PROC_FS=n: refused: .* a guest needs CONFIG_PROC_FS", made.stderr, re.M)
    assert "BROKEN-y: not built; recording the others: mm/mprotect.c" in made.stderr
    assert "BROKEN-y: not built: mm/mprotect.c" in made.stdout
    assert "differs in: LARGE=y" in profdiff("report", "o.profdiff", cwd=tmp_path).stdout

    shown = ["options", "o.profdiff", "--json", "o.json", "--csv", "o.csv"]
    profdiff(*shown, cwd=tmp_path)
    (cell,) = table(json.loads((tmp_path / "o.json").read_text()), "option-cells")
    # Another way to the same numbers.
    results = profdiff_api.open(tmp_path / "o.profdiff").results()
    values = {one.kernel: one.per_op for one in results if one.metric == "instructions"}
    assert cell["option"] == "LARGE=y"
    assert cell["base"] == pytest.approx(values["base"])
    assert cell["value"] == pytest.approx(values["LARGE-y"])
    assert cell["delta"] == pytest.approx(values["LARGE-y"] - values["base"])
    assert cell["verdict"] == "exact"
    assert cell["delta"] > 0 and cell["mostly"] == "prot_commit_flush_ptes" and cell["own"] > 0
    costs = {one["option"]: one for one in rows(tmp_path / "o.csv")}
    assert costs["LARGE=y"]["table"] in ("option-cells", "options")

    # As check judges it, beside a page.
    condition = ["--fail-if", f"instructions > {cell['delta'] - 1:+.0f}/op"]
    judged = profdiff(
        "options", "o.profdiff", *condition, "--html", "o.html", cwd=tmp_path, status=1
    )
    checked = profdiff("check", "o.profdiff", *condition, cwd=tmp_path, status=1)
    assert judged.stdout == checked.stdout
    assert (tmp_path / "o.html").stat().st_size > 10_000
    mailed = profdiff("options", "o.profdiff", "--width", "72", cwd=tmp_path).stdout
    assert max(map(len, mailed.splitlines())) <= 72
    assert "LARGE=y" in mailed and "prot_commit_flush_ptes" in mailed

    # The same again makes nothing; one option more, only that.
    again = profdiff(*words, *QUICK, "-o", "o.profdiff", *COMMAND, cwd=tmp_path)
    assert "all runs are already recorded" in again.stdout + again.stderr
    assert not re.search("(base|LARGE-y): building", again.stderr)
    more = profdiff(
        *words[:-1], f"{words[-1]},SWAP=n", *QUICK, "-o", "o.profdiff", *COMMAND, cwd=tmp_path
    )
    assert "adds SWAP-n to o.profdiff" in more.stderr
    assert "LARGE-y: building" not in more.stderr
    assert "SWAP=n" in more.stdout


@pytest.mark.guest
def test_boot_options_need_no_build_and_suites_have_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(shared_states(tmp_path / "cache")))
    kernel = need_kernel("v6.18.15")
    (tmp_path / "mine.toml").write_text(
        f'[[workload]]\nname = "protect"\nop = "call"\ncommand = ["{EXAMPLE}", "{{kib}}", "20"]\n'
        "sweep = { kib = [4] }\nops = 20\n"
    )
    words = ["options", kernel, "--append", "mitigations=off", "--append", "slab_nomerge"]
    made = profdiff(*words, "--suite", "mine.toml", *QUICK, cwd=tmp_path)
    assert "profdiff options mine.profdiff shows this again" in made.stdout
    assert not (tmp_path / "cache/builds/kernels").exists()
    shown = profdiff("options", "mine.profdiff", "--json", "-", cwd=tmp_path).stdout
    costs = {one["option"]: one for one in table(json.loads(shown), "options")}
    assert set(costs) == {"mitigations=off", "slab_nomerge"}
    # Each row of a suite's CSV says what its kernel was given.
    profdiff("report", "mine.profdiff", "--csv", "mine.csv", cwd=tmp_path)
    given = {row["kernel"]: row["variant"] for row in rows(tmp_path / "mine.csv")}
    assert given == {
        "base": "",
        "mitigations-off": "mitigations=off",
        "slab_nomerge": "slab_nomerge",
    }
    judged = profdiff(
        "options", "mine.profdiff", "--fail-if", "instructions > +1000%", cwd=tmp_path
    )
    assert judged.stdout == "2 of 2 pass\n"
    for one in costs.values():
        assert one["more"] + one["less"] + one["same"] + one["unsure"] == 1
        assert (one["set besides"], one["changes"]) == ([], [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no kernel: write profdiff options REV --toggle OPTION,..."),
        (["HEAD"], "no option: add --toggle OPTION,... or --append ARGUMENTS"),
        (["HEAD", "--toggle", "A B"], "--toggle A B: write the name of an option"),
        (["debian:trixie", "--toggle", "A"], "debian:trixie is not built from git"),
        (["k", "--append", "a'b", "--", "true"], "has a control character or a single quote"),
        (["k", "--append", "a", "--append", "a", "--", "true"], "a is given twice"),
        (["k", "--append", "a", "--arch", "x86_64,arm64"], "one architecture and compiler"),
    ],
)
def test_mistakes_are_told_in_a_line(words: list[str], told: str, tmp_path: Path) -> None:
    assert told in error_line(profdiff("options", *words, cwd=tmp_path, status=2))
