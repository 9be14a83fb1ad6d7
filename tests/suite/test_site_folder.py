"""A site's folder: whole or not at all, and never over what is somebody else's."""

import json
import os
from pathlib import Path

import pytest

from profdiff.base import atomic
from profdiff.base.errors import InputError
from profdiff.reports.page.site import MARKER, site_folder


def made(target: Path, *names: str, content: str = "new") -> None:
    with site_folder(target) as site:
        for name in names:
            site.write(name, content)


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARKER
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_site_replaces_its_older_one_whole(tmp_path: Path) -> None:
    site = tmp_path / "deep/site"
    made(site, "index.html", "cells/old.html", content="old")
    made(site, "index.html", "cells/a/new.html")
    assert files(site) == {"index.html": "new", "cells/a/new.html": "new"}
    assert names(tmp_path / "deep") == ["site"]
    listed = json.loads((site / MARKER).read_text())["files"]
    assert listed == ["index.html", "cells/a/new.html"]


def test_an_error_leaves_the_older_site(tmp_path: Path) -> None:
    site = tmp_path / "site"
    made(site, "index.html", content="old")
    before = files(site)
    with pytest.raises(ZeroDivisionError), site_folder(site) as other:
        other.write("index.html", "half")
        raise ZeroDivisionError
    assert files(site) == before
    assert names(tmp_path) == ["site"]


def test_what_others_put_there_stays(tmp_path: Path) -> None:
    site = tmp_path / "site"
    made(site, "index.html", "cells/x.html", content="old")
    (site / "CNAME").write_text("example.org")
    (site / "cells/notes").mkdir()
    (site / "cells/notes/mine.txt").write_text("mine")
    (site / "away").symlink_to("/nonexistent")
    made(site, "index.html")
    assert files(site) == {
        "index.html": "new",
        "CNAME": "example.org",
        "cells/notes/mine.txt": "mine",
    }
    assert (site / "away").readlink() == Path("/nonexistent")
    # Still nobody's but theirs.
    made(site, "index.html")
    assert (site / "CNAME").exists()


def test_a_strangers_file_of_our_name_is_not_overwritten(tmp_path: Path) -> None:
    site = tmp_path / "site"
    made(site, "index.html", content="old")
    (site / "cells.html").write_text("mine")
    with pytest.raises(InputError, match=r"cells\.html is not part of the site"):
        made(site, "index.html", "cells.html")
    assert files(site) == {"index.html": "old", "cells.html": "mine"}


@pytest.mark.parametrize("kind", ["files", "file", "damaged", "newer"])
def test_what_is_no_site_is_refused(tmp_path: Path, kind: str) -> None:
    site = tmp_path / "site"
    if kind == "file":
        site.write_text("mine")
    else:
        site.mkdir()
        (site / "precious.txt").write_text("mine")
    if kind == "damaged":
        (site / MARKER).write_text("{")
    if kind == "newer":
        (site / MARKER).write_text('{"schema": "profdiff.site/9", "files": ["precious.txt"]}')
    with pytest.raises(InputError, match=str(site)):
        made(site, "index.html")
    kept = site if kind == "file" else site / "precious.txt"
    assert kept.read_text() == "mine"


def test_an_empty_folder_and_a_link_become_the_site(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    made(tmp_path / "link", "index.html")
    assert (tmp_path / "link").is_symlink()
    assert files(tmp_path / "real") == {"index.html": "new"}
    made(tmp_path / "link", "other.html")
    assert files(tmp_path / "real") == {"other.html": "new"}


def test_others_can_read_it(tmp_path: Path) -> None:
    """A web server is another user."""
    made(tmp_path / "site", "cells/x.html")
    mask = os.umask(0)
    os.umask(mask)
    for path in (tmp_path / "site", tmp_path / "site/cells"):
        assert path.stat().st_mode & 0o777 == 0o777 & ~mask
    assert (tmp_path / "site/cells/x.html").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_name_is_written_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        made(tmp_path / "site", "a.html", "a.html")
    assert names(tmp_path) == []


def test_folders_change_names_where_that_is_no_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Without:
        def __init__(self, *_: object, **__: object) -> None:
            pass

    monkeypatch.setattr(atomic.ctypes, "CDLL", Without)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    atomic.exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a/b").exists()
    assert (tmp_path / "b/a").exists()
    assert names(tmp_path) == ["a", "b"]
    with pytest.raises(OSError, match="no-such"):
        atomic.exchange(tmp_path / "a", tmp_path / "no-such")
    assert (tmp_path / "a/b").exists()


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fails)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        made(tmp_path / "site", "a.html")
