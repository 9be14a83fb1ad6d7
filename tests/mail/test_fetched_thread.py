"""A thread by Message-ID: with a program in b4's place, and with b4 itself, without a network."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from mail.letters import NEWEST_ID, ROOT_ID, THREAD
from mail.test_command import RILEY, imported, read  # noqa: F401  # a fixture
from support import error_line, profdiff

from profdiff.mail.thread import message_id

ID = ROOT_ID.strip("<>")
# Writes the thread as b4 does, where -o and -n say, and what it was given beside it.
B4 = """#!/bin/sh
printf '%s\\n' "$@" > {told}
while [ $# -gt 1 ]; do
	case $1 in -o) folder=$2 ;; -n) name=$2 ;; esac
	shift
done
cp {thread} "$folder/$name.mbx"
"""


def fake(folder: Path, script: str) -> dict[str, str]:
    program = folder / "bin/b4"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    "text",
    [
        ID,
        f"<{ID}>",
        f"https://lore.kernel.org/linux-mm/{ID}/",
        f"https://lore.kernel.org/all/{ID}/t.mbox.gz",
        f"https://lore.kernel.org/r/{ID}",
    ],
)
def test_an_id_is_read_from_what_people_paste(text: str) -> None:
    assert message_id(text) == ID


@pytest.mark.parametrize(
    "text", ["t.mbox.gz", "--help@x", "a b@c", "https://lore.kernel.org/all/", ""]
)
def test_what_is_no_id_is_none(text: str) -> None:
    assert message_id(text) is None


def test_a_url_writes_an_id_otherwise() -> None:
    assert message_id("https://lore.kernel.org/all/a%2Bb@c.org/") == "a+b@c.org"


def test_b4_fetches_the_thread(imported: Path, tmp_path: Path) -> None:  # noqa: F811
    env = fake(tmp_path, B4.format(told=tmp_path / "told", thread=THREAD))
    draft = tmp_path / "draft.eml"
    arguments = ["mail", imported, "-o", draft, "--from", RILEY, "--thread", f"<{ID}>"]
    profdiff(*arguments, env=env)
    assert (tmp_path / "told").read_text().splitlines()[-1] == ID
    # A reply to the mail that was named, not to the newest.
    assert read(draft)["In-Reply-To"] == ROOT_ID
    profdiff(*arguments, "--reply-to", NEWEST_ID, "--force", env=env)
    assert read(draft)["In-Reply-To"] == NEWEST_ID


def test_b4_that_finds_nothing_is_one_line(imported: Path, tmp_path: Path) -> None:  # noqa: F811
    env = fake(tmp_path, "#!/bin/sh\necho 'That message-id is not known.' >&2\nexit 1\n")
    arguments = ["mail", imported, "-o", tmp_path / "d.eml", "--from", RILEY, "--thread", ID]
    said = error_line(profdiff(*arguments, env=env, status=2))
    assert "b4 found no such thread: 'That message-id is not known.'" in said
    assert not (tmp_path / "d.eml").exists()


def test_without_b4_the_line_says_what_to_type(imported: Path, tmp_path: Path) -> None:  # noqa: F811
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    arguments = ["mail", imported, "-o", tmp_path / "d.eml", "--from", RILEY, "--thread", ID]
    said = error_line(profdiff(*arguments, env={"PATH": str(bin_)}, status=2))
    assert f"curl -LO 'https://lore.kernel.org/all/{ID}/t.mbox.gz'" in said


def test_the_real_b4_takes_our_command_line(imported: Path, tmp_path: Path) -> None:  # noqa: F811
    """It cannot reach lore here: what it says is passed on, and is no usage error."""
    real = shutil.which("b4")
    if real is None:
        pytest.skip("b4 is not installed (pip install b4)")
    env = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "https_proxy": "http://127.0.0.1:9"}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "XDG_CACHE_HOME": str(tmp_path)}
    arguments = ["mail", imported, "-o", tmp_path / "d.eml", "--from", RILEY, "--thread", ID]
    said = error_line(profdiff(*arguments, env=env, status=2))
    assert "b4 found no such thread" in said
    assert "usage" not in said and "unrecognized" not in said
