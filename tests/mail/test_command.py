"""The command: what it writes and shows, and what it refuses."""

import email
import email.policy
import gzip
import re
import shutil
from email.message import EmailMessage
from pathlib import Path

import msgspec
import pytest
from mail.letters import NEWEST_ID, SOURCE, THREAD
from support import error_line, need_program, profdiff

from profdiff.session import manifest as m
from profdiff.session.session import Session

RILEY = "Riley Reporter <riley@example.org>"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of two folded recordings."""
    folder = tmp_path_factory.mktemp("mail")
    (folder / "a.folded").write_text("work;main 10\nwork;main;mprotect_[k] 100\n")
    (folder / "b.folded").write_text("work;main 10\nwork;main;mprotect_[k] 180\n")
    made = folder / "s.profdiff"
    profdiff("import", f"base={folder}/a.folded", f"new={folder}/b.folded", "-o", made)
    return made


def read(file: Path) -> EmailMessage:
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def test_a_kernel_without_names_is_told(imported: Path, tmp_path: Path) -> None:
    assert "no names" not in profdiff("mail", imported, "--from", RILEY).stdout
    for name, count in (("a", 10), ("b", 20)):
        (tmp_path / f"{name}.folded").write_text(f"work;[unknown]_[k] {count}\n")
    made = tmp_path / "s.profdiff"
    profdiff("import", f"base={tmp_path}/a.folded", f"new={tmp_path}/b.folded", "-o", made)
    said = profdiff("mail", made, "--from", RILEY).stdout
    assert "Kernel functions have no names here" in said


def test_the_command_writes_what_it_shows_and_sends_nothing(imported: Path, tmp_path: Path) -> None:
    draft = tmp_path / "my draft.eml"
    arguments = ["--from", RILEY, "--to", "linux-mm@lists.example.org", "--regression"]
    result = profdiff("mail", imported, "-o", draft, *arguments)
    assert result.stdout.encode() == draft.read_bytes()
    sends = f"git send-email '--from={RILEY}' '{draft}'"
    checklist = result.stderr.splitlines()
    assert checklist[-1] == f"not sent; to send it: {sends}"
    assert len([line for line in checklist if line.startswith("  [")]) == 17
    assert "[_]" not in result.stdout
    message = read(draft)
    assert message["Subject"] == (
        "[REGRESSION] The workload: 72.7% more samples on kernel new than on kernel base (unsure)"
    )
    assert message["Cc"] == "regressions@lists.linux.dev"
    assert "profdiff mail" in message.get_content()
    only = profdiff("mail", imported, "--from", RILEY, cwd=tmp_path)
    assert "send" not in only.stderr
    assert list(tmp_path.iterdir()) == [draft]
    asked = profdiff("mail", imported, "-o", "-", "--from", RILEY, "--checklist")
    assert (asked.stderr, asked.stdout.count("\n[")) == ("", 17)


def test_an_edited_draft_is_kept(imported: Path, tmp_path: Path) -> None:
    draft = tmp_path / "draft.eml"
    arguments: list[str | Path] = ["mail", imported, "-o", draft, "--from", RILEY]
    profdiff(*arguments)
    written = draft.read_bytes()
    draft.write_bytes(written + b"What I add by hand.\n")
    refused = profdiff(*arguments, status=2)
    assert "the file exists" in error_line(refused) and "--force" in error_line(refused)
    assert (refused.stdout, draft.read_bytes()) == ("", written + b"What I add by hand.\n")
    profdiff(*arguments, "--force")
    assert b"by hand" not in draft.read_bytes()


def test_the_command_answers_into_a_thread(imported: Path, tmp_path: Path) -> None:
    packed, draft = tmp_path / "t.mbox.gz", tmp_path / "draft.eml"
    packed.write_bytes(gzip.compress(THREAD.read_bytes()))
    arguments: list[str | Path] = [
        "mail",
        imported,
        "-o",
        draft,
        "--thread",
        packed,
        "--from",
        RILEY,
    ]
    profdiff(*arguments)
    message = read(draft)
    assert message["In-Reply-To"] == NEWEST_ID
    assert message["Subject"] == "Re: [PATCH v2 0/3] mm: change protections in batches"
    assert not any(line.startswith(">") for line in message.get_content().splitlines())
    more = ["--quote", "--regression", "--regzbot", "^introduced: v6.16..v6.17-rc1"]
    profdiff(*arguments, *more, "--force", "--reply-to", "jane.1@corp.example.com")
    message = read(draft)
    assert message["Subject"] == (
        "Re: [REGRESSION] [PATCH v2 0/3] mm: change protections in batches"
    )
    assert message["To"] == '"Doe, Jane" <jane.doe@corp.example.com>'
    body = message.get_content()
    assert body.split("\n\n")[0].endswith("wrote:\n> Looks good to me.")
    assert "\n\n#regzbot ^introduced: v6.16..v6.17-rc1\n\n" in f"{body}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reply-to", "a@b"], "--reply-to: name the thread"),
        (["--quote"], "--quote: name the thread"),
        (["--thread", str(SOURCE)], "is not an mbox"),
        (["--thread", str(THREAD), "--reply-to", "x"], "not among the 3 mails"),
        (["--to", "xxxx@xxxx"], "--to: 'xxxx@xxxx' is masked"),
        (["--cc", "nobody"], "--cc: 'nobody' is not an address"),
        (["--from", "a@b.org, c@d.org"], "--from: 'a@b.org, c@d.org' holds 2 addresses"),
        (["--fixes", "deadbeef"], "--fixes: 'deadbeef' does not cite a commit"),
        (["--closes", "nowhere"], "--closes: 'nowhere' is not a URL"),
        (["--regzbot", "introducd: v6.1"], "'introducd' is not a regzbot command: introduced"),
        (["--regzbot", "^introduced: v6.1"], "name the thread with --thread"),
        (["--subject", "a\nBcc: evil@example.net"], "--subject: "),
        (["--reproducer", "/nowhere.c"], "--reproducer /nowhere.c: No such file"),
        (["-o", "/nowhere/draft.eml"], "cannot write /nowhere/draft.eml"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    imported: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    draft = tmp_path / "draft.eml"
    usual = {"-o": draft, "--from": RILEY}
    words = [w for option, its in usual.items() if option not in arguments for w in (option, its)]
    result = profdiff("mail", imported, *words, *arguments, status=2)
    assert said in error_line(result)
    assert not list(tmp_path.iterdir())


def test_who_writes_is_what_git_says(imported: Path, tmp_path: Path) -> None:
    need_program("git")
    isolated = {"HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_NOSYSTEM": "1"}
    isolated["GIT_CONFIG_GLOBAL"] = str(tmp_path / "config")
    arguments: list[str | Path] = ["mail", imported, "-o", tmp_path / "draft.eml"]
    result = profdiff(*arguments, cwd=tmp_path, env=isolated, status=2)
    assert "git config has no user.email" in error_line(result)
    (tmp_path / "config").write_text("[user]\nname = Zoë\nemail = zoe@example.org\n")
    profdiff(*arguments, cwd=tmp_path, env=isolated)
    assert read(tmp_path / "draft.eml")["From"] == "Zoë <zoe@example.org>"


def test_a_hostile_manifest_reaches_no_header_and_no_terminal(
    imported: Path, tmp_path: Path
) -> None:
    evil = "x\x1b[2J\r\nBcc: evil@example.net\n\n#regzbot invalid: x\nCc: evil@example.net"
    copy = tmp_path / "s.profdiff"
    shutil.copytree(imported, copy)
    described = msgspec.json.decode((copy / "manifest.json").read_bytes(), type=m.Manifest)
    described = m.replace(
        described,
        profdiff=evil,
        command=[evil],
        workload=m.replace(described.workload, argv=[evil]),
        kernels=[m.replace(one, release=evil, compiler=evil) for one in described.kernels],
    )
    Session(copy, described).save(described)
    shown = profdiff("mail", copy, "-o", tmp_path / "draft.eml", "--from", RILEY).stdout
    assert not re.search(r"(?im)^(?:b?cc:|#regzb)", shown)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", shown)
    assert read(tmp_path / "draft.eml")["Bcc"] is None
