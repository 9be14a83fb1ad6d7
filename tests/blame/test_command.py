"""The command: what it prints and writes, and what it refuses."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from blame import truth
from goldens import check_schema
from support import ROOT, error_line, page_data, profdiff
from synthetic_session import exact_session

from profdiff.base import units
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.views import blame as views


def test_the_table_adds_up(session: Path, repo: Path) -> None:
    said = profdiff("blame", session, "--repo", repo, "--width", "110").stdout
    commit = truth.git(repo, "rev-parse", "--short=12", "v6.18.15").strip()
    assert f"new ({commit}) against base" in said
    _, _, table = said.partition("instructions by commit\n")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert rows[0][:5] == ["+1,420,000", "87.7%", "+1,420,000", commit, "2026-01-01"]
    assert "\x1b" not in said
    assert r"mm: batch \u{1b}[31m" in table
    end = next(number for number, row in enumerate(rows) if row[0].startswith("---"))
    assert rows[end + 1] == ["+1,619,275", "100.0%", "+1,619,275", "all"]
    for column in (0, 2):
        assert sum(int(row[column].replace(",", "")) for row in rows[:end]) == 1_619_275
    kinds = {row[3]: row[0] for row in rows[1:end]}
    assert kinds == {"more-often": "+199,280", "unresolved": "-5"}
    # Nothing that its stacks hold was changed.
    assert "suspects for" not in said
    assert all(units.width(line) <= 110 for line in said.splitlines())


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/blame.schema.json", views.schema(), "blame")


def test_the_json_is_valid_and_adds_up(session: Path, repo: Path, tmp_path: Path) -> None:
    schema = json.loads((ROOT / "profdiff/blame.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    file = tmp_path / "blame.json"
    assert not profdiff("blame", session, "--repo", repo, "--json", file).stdout
    document = json.loads(file.read_text())
    jsonschema.validate(document, schema)
    assert document["schema"] == "profdiff.blame/1"
    assert sum(row["instructions"] for row in document["rows"]) == document["delta"] == 1_619_275
    first = document["rows"][0]
    assert (first["added"], first["removed"]) == (1_720_000, -300_000)
    assert (
        first["commit"]
        == document["revisions"]["new"]
        == truth.git(repo, "rev-parse", "v6.18.15").strip()
    )
    assert first["author_date"] == "2026-01-01T12:00:00+00:00"
    assert {one["function"]: one["instructions"] for one in first["functions"]} == {
        "prot_commit_flush_ptes": 1_100_000,
        "commit_anon_folio_batch": 620_000,
        "can_change_pte_writable": -300_000,
    }


def test_revisions_can_be_named(session: Path, repo: Path) -> None:
    """Of one revision with itself, no commit is to blame: a line that only one kernel executes was
    there all the time."""
    revisions = ["--base", "v6.18.15", "--new", "v6.18.15", "--json", "-"]
    document = json.loads(profdiff("blame", session, "--repo", repo, *revisions).stdout)
    assert "commit" not in {row["kind"] for row in document["rows"]}
    assert sum(row["instructions"] for row in document["rows"]) == 1_619_275


@pytest.mark.parametrize("width", [60, 75, 104, 140, 200])
def test_every_width(session: Path, repo: Path, width: int) -> None:
    said = profdiff("blame", session, "--repo", repo, "--width", str(width), "--ascii").stdout
    assert all(len(line) <= width for line in said.splitlines())
    assert said.isascii()
    assert re.search(r"^\+1,619,275 .* all$", said, re.MULTILINE)
    assert ("date" in said) == (width >= 104)


def test_rows_that_are_not_shown_are_summed(session: Path, repo: Path) -> None:
    said = profdiff("blame", session, "--repo", repo, "--top", "1").stdout
    assert re.search(r"^ *\+199,275 .* 2 rows not shown$", said, re.MULTILINE)
    assert re.search(r"^\+1,619,275 .* all$", said, re.MULTILINE)


def test_what_is_refused(session: Path, repo: Path, tmp_path: Path) -> None:
    def refused(*arguments: str | Path, of: Path = session) -> str:
        return error_line(profdiff("blame", of, *arguments, status=2))

    assert "--repo" in refused()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "empty" in refused("--repo", empty)
    assert "gone" in refused("--repo", tmp_path / "gone")
    said = refused("--repo", repo, "--base", "v6.12.10")
    assert "has no revision 'v6.12.10'" in said
    assert "v6.12.107" in said
    said = refused("--repo", repo, "--kernel", "nwe")
    assert said == "--kernel nwe: the session compares new"
    assert "--ops" in refused("--repo", repo, "--per-op")
    ignored = tmp_path / "none"
    assert str(ignored) in refused("--repo", repo, "--ignore-revs-file", ignored)


def test_a_release_without_a_tag(session: Path, repo: Path, tmp_path: Path) -> None:
    clone = tmp_path / "untagged"
    truth.git(tmp_path, "clone", "-q", "--no-tags", str(repo), str(clone))
    said = error_line(profdiff("blame", session, "--repo", clone, status=2))
    assert "v6.12.107" in said
    assert "--base REV" in said


def test_a_shallow_clone(session: Path, repo: Path, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    truth.git(tmp_path, "clone", "-q", "--depth", "1", repo.as_uri(), str(clone))
    new = truth.git(repo, "rev-parse", "v6.18.15").strip()
    old = truth.git(repo, "rev-parse", "v6.12.107").strip()
    arguments = ["--repo", clone, "--base", old, "--new", new]
    said = error_line(profdiff("blame", session, *arguments, status=2))
    assert "unshallow" in said


def test_sessions_without_exact_counts(repo: Path, tmp_path: Path) -> None:
    for name, count in (("a", 10), ("b", 20)):
        (tmp_path / f"{name}.folded").write_text(f"work;main_[k] {count}\n")
    made = tmp_path / "s.profdiff"
    profdiff("import", f"base={tmp_path}/a.folded", f"new={tmp_path}/b.folded", "-o", made)
    said = error_line(profdiff("blame", made, "--repo", repo, status=2))
    assert "exact" in said


def test_a_release_that_nobody_knows(session: Path, repo: Path, tmp_path: Path) -> None:
    opened = Session.open(session)
    kernels = [m.replace(one, release=None) for one in opened.manifest.kernels]
    copy = tmp_path / "s.profdiff"
    exact_session(copy)
    made = Session.open(copy)
    made.save(m.replace(made.manifest, kernels=[m.replace(one, symbols=None) for one in kernels]))
    said = error_line(profdiff("blame", copy, "--repo", repo, status=2))
    assert "its release is unknown" in said
    assert "--base REV" in said


def test_the_page_has_the_rows(session: Path, repo: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    profdiff("blame", session, "--repo", repo, "--html", page)
    document = json.loads(page_data(page))
    assert document["blame"]["delta"] == 1_619_275
    assert document["blame"]["rows"][0]["kind"] == "commit"
