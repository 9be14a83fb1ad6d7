"""What an assistant is told of commits."""

import os
from pathlib import Path

import pytest
from coroutines import run
from support import profdiff

from profdiff.base.errors import InputError
from profdiff.mcp.folder import Folder
from profdiff.mcp.tools import Tools


def test_blame_is_that_of_the_command(session: Path, repo: Path) -> None:
    top = Path(os.path.commonpath([session, repo]))
    tools, named = Tools(Folder(top)), str(session.relative_to(top))
    text = run(tools.blame(named, repo=str(repo.relative_to(top)), top=1))
    printed = profdiff("blame", session, "--repo", repo, "--top", "1", "--width", "100").stdout
    assert text.split("\n")[2:-1] == printed.rstrip("\n").split("\n")
    assert "mm: batch" in text and "\x1b" not in text
    with pytest.raises(InputError, match="leads out of the folder"):
        run(Tools(Folder(session)).blame("", repo=str(repo)))
