"""Archives as guests and machines send them."""

import io
import tarfile
from pathlib import Path

from support import ROOT


def tar(members: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    """A tar of regular files in one of tarfile's formats."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=form) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            # A fraction has no place in a ustar header: pax describes each member.
            member.mtime = 1.5 if form == tarfile.PAX_FORMAT else 1
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def unpack_session(folder: Path) -> None:
    """The session of tests/fixtures/session, into a folder."""
    with tarfile.open(ROOT / "tests/fixtures/session/session.tar.xz") as archive:
        # An argument of extractall() from Python 3.11.4 on.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - our own archive
