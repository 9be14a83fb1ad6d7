"""Suspects in a mail: never a Fixes trailer, and nothing that a terminal or a mailer obeys."""

from pathlib import Path

from blame import truth
from support import error_line, profdiff

SENDER = ["--from", "A <a@example.org>", "--to", "b@example.org"]


def test_a_mail_names_suspects_and_no_culprit(session: Path, repo: Path) -> None:
    mail = profdiff("mail", session, "--repo", repo, *SENDER).stdout
    commit = truth.git(repo, "rev-parse", "--short=12", "v6.18.15").strip()
    head, _, rest = mail.partition("Suspects by lines, not bisected (instructions, ")
    assert rest.splitlines()[:3] == [
        "share of the delta):",
        rf'  +1,420,000  87.7%  {commit} ("mm: batch \u{{1b}}[31mpages")',
        "",
    ]
    assert "\x1b" not in mail
    assert "Fixes:" not in mail
    assert commit not in head
    # Whoever bisected says so, and it stays beside the suspects.
    fixes = f'{commit} ("mm: batch")'
    told = profdiff("mail", session, "--repo", repo, "--fixes", fixes, *SENDER).stdout
    assert f"\nFixes: {fixes}\n" in told
    assert "Suspects by lines, not bisected" in told
    without = ["--without", "suspects"]
    assert commit not in profdiff("mail", session, "--repo", repo, *without, *SENDER).stdout


def test_revisions_without_a_repository(session: Path, repo: Path) -> None:
    said = error_line(profdiff("mail", session, "--base", "v6.12.107", *SENDER, status=2))
    assert "--repo" in said
    said = error_line(profdiff("mail", session, "--repo", repo, "--new", "v6", *SENDER, status=2))
    assert "has no revision 'v6'" in said


def test_no_commit_is_to_blame(session: Path, repo: Path) -> None:
    same = ["--base", "v6.18.15", "--new", "v6.18.15"]
    assert "Suspects" not in profdiff("mail", session, "--repo", repo, *same, *SENDER).stdout
