"""What a session says of what its kernels were built from, and of those that were not built."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from synthetic import manifest

from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.views.kernels.facts import sentence

COMMIT, TREE = "0123456789abcdef" * 2 + "01234567", "fedcba98" * 5
SOURCE = m.BuiltFrom(
    repository="/src/linux",
    commit=COMMIT,
    described="v6.16-3-g0123456789ab",
    subject="mm/mprotect: one check less",
    tree=TREE,
    built=COMMIT,
    dirty=True,
    patches=["0001-a.patch: a"],
    reverted=[TREE],
    config="tinyconfig",
    compiler="gcc (Debian 12.2.0) 12.2.0",
    arch="x86_64",
)


def session(folder: Path) -> Session:
    base, other, hole = manifest(["base", "built", "gone"]).kernels
    kernels = [base, m.replace(other, source=SOURCE), m.replace(hole, hole="mm/x.c:3: error: no")]
    return Session.create(folder, m.replace(manifest(["base"]), kernels=kernels))


def changed(folder: Path, **more: Any) -> None:
    """Change fields of the manifest's last kernel."""
    path = folder / "manifest.json"
    data = json.loads(path.read_bytes())
    data["kernels"][-1] |= more
    path.write_text(json.dumps(data))


def test_sources_and_holes_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = session(tmp_path / "s").manifest
    read = Session.open(tmp_path / "s").manifest
    assert read == written
    assert read.kernels[1].source == SOURCE
    assert [kernel.hole for kernel in read.kernels] == ["", "", "mm/x.c:3: error: no"]


def test_a_manifest_without_these_fields_is_read(tmp_path: Path) -> None:
    session(tmp_path / "s")
    path = tmp_path / "s/manifest.json"
    data = json.loads(path.read_bytes())
    del data["bisection"]
    for kernel in data["kernels"]:
        del kernel["source"], kernel["hole"]
    path.write_text(json.dumps(data))
    read = Session.open(tmp_path / "s").manifest
    assert read.bisection is None
    assert all(kernel.source is None and not kernel.hole for kernel in read.kernels)


@pytest.mark.parametrize(
    "more",
    [
        {"source": {"commit": "HEAD"}},
        {"hole": ["x"]},
        {"hole": "x" * 70_000},
        {"source": {**json.loads(msgspec.json.encode(SOURCE)), "commit": COMMIT[:39]}},
        {"source": {**json.loads(msgspec.json.encode(SOURCE)), "tree": "../" + TREE[3:]}},
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    session(tmp_path / "s")
    changed(tmp_path / "s", **more)
    with pytest.raises(SessionError, match="damaged"):
        Session.open(tmp_path / "s")


def test_a_hole_has_no_runs_and_is_not_the_base(tmp_path: Path) -> None:
    made = session(tmp_path / "s")
    base, built, hole = made.manifest.kernels
    made.save(m.replace(made.manifest, kernels=[hole, base, built]))
    with pytest.raises(SessionError, match="the base was not built"):
        Session.open(tmp_path / "s")
    run = m.Run(
        id="gone-1",
        kernel="gone",
        collector="exact",
        repetition=1,
        started="2026-11-22T12:00:00Z",
        wall_seconds=1.0,
        files={},
    )
    made.save(m.replace(made.manifest, kernels=[base, built, hole], runs=[run]))
    with pytest.raises(SessionError, match="runs of gone, which was not built"):
        Session.open(tmp_path / "s")


def test_a_sentence_says_what_the_config_lacks() -> None:
    one = m.replace(SOURCE, dirty=False, patches=[], reverted=[])
    said = 'built from v6.16-3-g0123456789ab "mm/mprotect: one check less", config tinyconfig'
    assert sentence(one) == said
    lost = [f"CONFIG_{letter}=y" for letter in "ABCDE"]
    some = sentence(m.replace(one, lost=lost[:2]))
    assert some == f"{said}, which lacks CONFIG_A=y, CONFIG_B=y"
    many = sentence(m.replace(one, lost=lost))
    assert many == f"{said}, which lacks CONFIG_A=y, CONFIG_B=y, CONFIG_C=y and 2 more"
