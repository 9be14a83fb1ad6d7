"""Files of a session that are not as they were written: never other numbers without a word, and
never more lost than the run that they belong to."""

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import extent
import pytest
from support import error_line, page_data, profdiff, unclaimed
from synthetic_session import exact_session
from tars import unpack_session

from profdiff.api.suite import open_recording
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.records import DAMAGED
from profdiff.evidence.findings import LazyFindings
from profdiff.profile.kept import keep
from profdiff.recording.merge import merge
from profdiff.reports import documents
from profdiff.session.session import Session

FILES = {
    "dmesg": b"[    0.000000] Linux version\n",
    "entries": b"ffffffff81000000 ffffffff81000010 kthread\n",
    "observed": b"complete 1\nsyscall_mmap 3\n",
}
NUMBERS = ("metrics", "experiment", "stacks", "state")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real session of three collectors with its checksums, and what sums it up."""
    folder = tmp_path_factory.mktemp("damage") / "s.profdiff"
    unpack_session(folder)
    session = Session.open(folder)
    keep(session)
    assert Session.open(folder).manifest.functions
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A session of one exact run of each kernel."""
    return exact_session(tmp_path / "s.profdiff", files=FILES).folder


def numbers(folder: Path) -> tuple[dict[str, Any], list[str], list[str]]:
    """What a report's JSON has of numbers; what it says beside them; and what is to be said."""
    session = Session.open(folder)
    told = json.loads(
        documents.encode(documents.session_document(LazyFindings.of(session).findings))
    )
    return {name: told[name] for name in NUMBERS if name in told}, told["evidence"], session.damaged


def cut(path: Path, other: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data))] if data else b"x")


def flip(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes() or b"x")
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)


def empty(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path, other: Path) -> None:
    path.unlink()


def append(path: Path, other: Path) -> None:
    with path.open("ab") as file:
        file.write(random.randbytes(random.randrange(1, 99)))


def swap(path: Path, other: Path) -> None:
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


def link(path: Path, other: Path) -> None:
    path.unlink()
    path.symlink_to(other)


def lead_out(path: Path, other: Path) -> None:
    outside = path.parent.parent.parent.parent / "outside"
    shutil.move(path, outside)
    path.symlink_to(outside)


def fifo(path: Path, other: Path) -> None:
    path.unlink()
    os.mkfifo(path)


Damage = Callable[[Path, Path], None]
DAMAGES: list[Damage] = [cut, flip, empty, delete, append, swap, link, lead_out, fifo]


def names(folder: Path) -> list[str]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path.relative_to(folder)) for path in found]


@pytest.mark.slow
def test_no_damage_gives_other_numbers_without_a_word(written: Path, tmp_path: Path) -> None:
    true, _, none = numbers(written)
    assert none == []
    every = names(written)
    # A run has a dozen logs, and one file of numbers.
    first = [one for one in every if re.search(r"counts|perf.data|npz|manifest|observed", one)]
    for number in range(extent.examples(160)):
        random.seed(number)
        name = random.choice(first if number % 2 else every)
        damage = DAMAGES[number % len(DAMAGES)]
        copy = shutil.copytree(written, tmp_path / "case/s.profdiff", copy_function=os.link)
        other = random.choice(every)
        for one in (name, other):
            # Not the file of which the copy is another name.
            data = (copy / one).read_bytes()
            (copy / one).unlink()
            (copy / one).write_bytes(data)
        damage(copy / name, copy / other)
        told = f"{number}: {damage.__name__} {name} {other}"
        try:
            found, evidence, damaged = numbers(copy)
        except (SessionError, InputError) as error:
            assert "\n" not in str(error), told
        else:
            assert found == true or damaged, told
            assert [one for one in damaged if one not in evidence] == [], told
        shutil.rmtree(tmp_path / "case")


@pytest.mark.parametrize("name", ["entries", "observed", "counts"])
@pytest.mark.parametrize("damage", [empty, cut, flip], ids=lambda damage: damage.__name__)
def test_a_run_is_left_out_by_name(small: Path, name: str, damage: Damage) -> None:
    """The base has no other run: nothing can be compared."""
    assert Session.open(small).damaged == []
    damage(small / f"runs/base-1/{name}", small)
    line = error_line(profdiff("report", small, status=2))
    assert f"runs/base-1/{name} is damaged: it" in line
    told = profdiff("check", small, "--fail-if", "instructions > +900%", status=125)
    assert "is damaged" in told.stdout + told.stderr


def test_a_log_costs_no_numbers(small: Path) -> None:
    true, _, _ = numbers(small)
    flip(small / "runs/base-1/dmesg", small)
    found, evidence, damaged = numbers(small)
    assert found == true
    assert damaged == [one for one in evidence if "damaged" in one]
    assert "runs/base-1/dmesg is damaged: its content is not what was written" in damaged[0]
    with pytest.warns(UserWarning, match="runs/base-1/dmesg is damaged"):
        open_recording(small)


def test_a_strangers_sparse_file_is_not_read(small: Path) -> None:
    path = small / "manifest.json"
    told = json.loads(path.read_text())
    told["checksums"]["runs/base-1/counts"] = [40 << 30, "0" * 32]
    path.write_text(json.dumps(told))
    os.truncate(small / "runs/base-1/counts", 40 << 30)
    (line, *_) = Session.open(small).damaged
    assert line.endswith("runs/base-1/counts is damaged: its disk space is far below its length")


@pytest.mark.slow
def test_one_of_several_runs_costs_no_other(written: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(written, tmp_path / "s.profdiff")
    path = copy / "runs/new-p1-2/counts.bin"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    size = path.stat().st_size
    clause = f"run new-p1-2 is left out: runs/new-p1-2/counts.bin is damaged: it has {size:,} bytes"
    shown = profdiff("report", copy, "--text", "-", "--json", tmp_path / "json", status=1)
    assert clause in re.sub(r"\s+", " ", shown.stdout)
    assert clause in shown.stderr
    document = json.loads((tmp_path / "json").read_text())
    assert any(clause in one for one in document["evidence"])
    (run,) = [one for one in document["runs"] if one["id"] == "new-p1-2"]
    assert "counts.bin is damaged" in run["failure"]
    profdiff("report", copy, "--html", tmp_path / "page.html", status=1)
    assert "run new-p1-2 is left out" in page_data(tmp_path / "page.html")
    check = profdiff("check", copy, "--fail-if", "instructions > +900%", status=125)
    assert "inconclusive: instructions:total > +900%" in check.stdout
    assert clause in check.stdout


def test_what_only_sums_up_is_said_and_not_used(written: Path, tmp_path: Path) -> None:
    true, _, _ = numbers(written)
    copy = shutil.copytree(written, tmp_path / "s.profdiff")
    flip(copy / "symbols/@functions.npz", copy)
    found, evidence, _ = numbers(copy)
    assert found == true
    assert any("symbols/@functions.npz is damaged: its content" in one for one in evidence)


def test_a_session_without_checksums_claims_nothing(tmp_path: Path) -> None:
    """Nor are their files vouched for when more is recorded into them."""
    folder = tmp_path / "s.profdiff"
    unpack_session(folder)
    session = Session.open(unclaimed(folder))
    assert session.manifest.checksums == {}
    session.save(session.manifest)
    keep(session)
    kept = {"symbols/@events.npz", "symbols/@functions.npz"}
    assert set(Session.open(folder).manifest.checksums) == kept


def written_with(data: bytes, place: Path) -> None:
    place.write_bytes(data)


def test_who_is_killed_while_a_file_is_written_anew_leaves_no_damage(small: Path) -> None:
    session = Session.open(small)
    path = "symbols/base.npz"

    def killed(place: Path) -> None:
        place.write_bytes(b"new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.write(path, killed)
    after = Session.open(small)
    assert after.path(path).read_bytes() == b"new"
    after.write(path, partial(written_with, b"whole"))
    after.save(after.manifest)
    assert after.manifest.checksums[path].length == 5
    (small / path).write_bytes(b"whale")
    with pytest.raises(SessionError, match=r"base.npz is damaged: its content is not what was wr"):
        Session.open(small).path(path)


def test_a_merged_session_has_the_checksums_of_its_shards(small: Path, tmp_path: Path) -> None:
    """A damaged one is refused, unless the target has it, which a shard then mends."""
    merge(tmp_path / "whole", [small])
    whole, shard = Session.open(tmp_path / "whole"), Session.open(small)
    assert whole.damaged == []
    mine, theirs = whole.manifest.checksums, shard.manifest.checksums
    runs = {name for name in theirs if name.startswith("runs/")}
    assert {name: mine[name] for name in runs} == {name: theirs[name] for name in runs}
    assert "symbols/@functions.npz" in whole.manifest.checksums
    flip(tmp_path / "whole/runs/new-1/counts", small)
    (left,) = (run for run in Session.open(tmp_path / "whole").manifest.runs if run.failure)
    assert left.id == "new-1"
    assert left.failure
    assert left.failure.kind == DAMAGED
    with pytest.raises(SessionError, match=r"run new-1 is left out: .* bring this shard again"):
        merge(tmp_path / "again", [tmp_path / "whole"])
    assert not (tmp_path / "again").exists()
    merge(tmp_path / "whole", [small])
    assert Session.open(tmp_path / "whole").damaged == []


def test_a_manifest_says_whether_it_is_whole(small: Path) -> None:
    """One that another program wrote is read as it is."""
    path = small / "manifest.json"
    data = path.read_bytes()
    at = data.index(b'"repeat": 1') + len('"repeat": ')
    path.write_bytes(data[:at] + b"3" + data[at + 1 :])
    assert "manifest.json is damaged" in error_line(profdiff("report", small, status=2))
    path.write_text(json.dumps(json.loads(path.read_bytes())))
    assert Session.open(small).manifest.repeat == 3
