"""Manifests that no profdiff writes are refused."""

from pathlib import Path

import msgspec
import pytest
from synthetic import manifest

from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.session import Session


def refused(folder: Path, made: m.Manifest, words: str) -> None:
    (folder / "manifest.json").write_bytes(msgspec.json.encode(made))
    with pytest.raises(SessionError, match=words):
        Session.open(folder)


def test_a_collector_that_is_not_there(tmp_path: Path) -> None:
    made = m.replace(manifest(["base", "new"]), collectors=["nonsense"])
    refused(tmp_path, made, "there is no collector nonsense")


@pytest.mark.parametrize("shorter", [0, 1, 2, 9])
def test_lengths_that_do_not_fit(tmp_path: Path, shorter: int) -> None:
    """Of itself, of as many operations, of more, of no point."""
    listed = [
        m.Point({"n": "5"}, 1, 5, shorter=shorter),
        m.Point({"n": "5"}, 2, 5),
        m.Point({"n": "6"}, 1, 6),
    ]
    refused(tmp_path, m.replace(manifest(["base", "new"]), points=listed), "lengths do not fit")
