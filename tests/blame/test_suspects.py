"""Suspects in a mail: what blame says of commits, and no more than that."""

from pathlib import Path

from blame import truth
from support import error_line, profdiff

RILEY = "Riley Reporter <riley@example.org>"


def mail(*arguments: str | Path, status: int = 0) -> str:
    result = profdiff("mail", *arguments, "--from", RILEY, status=status)
    return error_line(result) if status else result.stdout


def test_the_mail_names_suspects(session: Path, repo: Path) -> None:
    said = mail(session, "--repo", repo)
    commit = truth.git(repo, "rev-parse", "--short=12", "v6.18.15").strip()
    before, head, after = said.partition("Suspects by lines, not bisected (")
    assert head
    assert "Functions that changed most" in before
    rows = after.split("\n\n")[0].splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [["+1,420,000", "87.7%", commit]]
    assert rows[0].endswith('")')
    assert "\x1b" not in said
    assert "Fixes:" not in said
    assert str(repo) not in said


def test_only_where_it_is_asked_for(session: Path, repo: Path) -> None:
    assert "uspects" not in mail(session).partition("\n-- \n")[0]
    assert "Suspects" not in mail(session, "--repo", repo, "--without", "suspects")
    assert "Suspects" not in mail(session, "--repo", repo, "--base", "v6.18.15")


def test_revisions_need_a_repository(session: Path) -> None:
    assert "--repo" in mail(session, "--new", "v6.18.15", status=2)
