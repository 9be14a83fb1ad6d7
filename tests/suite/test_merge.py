"""Shards that are put together: a session as if one process had recorded it, or a refusal."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from support import error_line, profdiff
from synthetic_session import counts_file, exact_session

from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.recording import merged
from profdiff.recording.merge import merge
from profdiff.recording.schedule import places
from profdiff.session import manifest as m
from profdiff.session.lock import recording
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.joined import joined_chains
from profdiff.symbolization.places import CODE, KERNEL_HALF


@pytest.fixture
def whole(tmp_path: Path) -> Session:
    """A session of two kernels with a run each, made in the order that its seed draws."""
    session = exact_session(tmp_path / "whole")
    labels = [kernel.label for kernel in session.manifest.kernels]
    order = [place.kernel for place in places(session.manifest, labels, "exact")]
    assert order != labels
    runs = sorted(session.manifest.runs, key=lambda run: order.index(run.kernel))
    session.save(m.replace(session.manifest, runs=runs))
    for kernel in session.manifest.kernels:
        path = session.path(kernel.symbols or "")
        kept = Chains.load(path)
        user = int((kept.address < KERNEL_HALF).sum())
        code = np.frombuffer(b"\x01\x90".ljust(16, b"\0") * user, CODE)
        session.write(kernel.symbols or "", replace(kept, code=code).save)
    session.save(session.manifest)
    return session


def _shard(whole: Session, folder: Path, *kernels: str) -> Session:
    """The runs of some of its kernels alone."""
    shutil.copytree(whole.folder, folder)
    session = Session.open(folder)
    keep = [run for run in session.manifest.runs if run.kernel in kernels]
    gone = [run for run in session.manifest.runs if run.kernel not in kernels]
    for run in gone:
        shutil.rmtree(folder / "runs" / run.id)
        (folder / f"symbols/{run.kernel}.npz").unlink()
    known = [
        one if one.label in kernels else m.replace(one, symbols=None)
        for one in session.manifest.kernels
    ]
    session.save(m.replace(session.manifest, runs=keep, kernels=known))
    return session


def _shards(whole: Session, folder: Path) -> list[Path]:
    labels = [kernel.label for kernel in whole.manifest.kernels]
    return [_shard(whole, folder / f"shard-{one}", one).folder for one in labels]


def _told(manifest: m.Manifest) -> m.Manifest:
    """Without what depends on what is kept of all runs together."""
    return m.replace(manifest, functions=None, events=None, checksums={})


def _content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def test_a_merged_session_is_as_if_it_had_been_recorded_at_once(
    whole: Session, tmp_path: Path
) -> None:
    shards = _shards(whole, tmp_path)
    (found,) = merge(tmp_path / "all", shards[::-1])
    assert _told(found.manifest) == _told(whole.manifest)
    mine, theirs = _content(tmp_path / "all"), _content(whole.folder)
    for name in (name for name in theirs if name.startswith("runs/")):
        assert mine[name] == theirs[name], name
    assert FunctionCounts.of(found).kept
    for kernel in found.manifest.kernels:
        assert kernel.symbols
        chains = Chains.load(found.path(kernel.symbols))
        before = Chains.load(whole.path(kernel.symbols))
        assert np.array_equal(chains.address, before.address)
        assert chains.strings[chains.symbol[0]] == before.strings[before.symbol[0]]
    report = profdiff("report", tmp_path / "all").stdout
    assert (
        report.replace(str(tmp_path / "all"), str(whole.folder))
        == profdiff("report", whole.folder).stdout
    )


def test_what_is_in_no_shard_is_said(whole: Session, tmp_path: Path) -> None:
    first, second = _shards(whole, tmp_path)
    said = profdiff("merge", tmp_path / "all", first).stdout
    assert "1 run of the plan is in no shard" in said
    assert "in no shard" not in profdiff("merge", tmp_path / "all", second).stdout
    for folder in (first, second):
        session = Session.open(folder)
        session.save(m.replace(session.manifest, repeat=3))
    said = profdiff("merge", tmp_path / "more", first, second).stdout
    assert "4 runs of the plan are in no shard" in said


def test_shards_come_one_by_one(whole: Session, tmp_path: Path) -> None:
    shards = _shards(whole, tmp_path)
    for shard in shards:
        (found,) = merge(tmp_path / "all", [shard])
    assert _told(found.manifest) == _told(whole.manifest)
    before = _content(tmp_path / "all")
    merge(tmp_path / "all", shards)
    assert _content(tmp_path / "all") == before


def test_a_run_that_two_have_is_taken_once(whole: Session, tmp_path: Path) -> None:
    (found,) = merge(tmp_path / "all", [whole.folder, *_shards(whole, tmp_path)])
    assert [run.id for run in found.manifest.runs] == [run.id for run in whole.manifest.runs]


def _other_count(session: Session) -> None:
    data = counts_file([(0xFFFF_FFFF_8100_0000, 12345)])
    path = session.manifest.runs[0].files["counts"]
    session.write(path, lambda place: place.write_bytes(data) and None)
    session.save(session.manifest)


def _saved(**changed: object) -> Callable[[Session], None]:
    return lambda session: session.save(m.replace(session.manifest, **changed))


def _other_image(session: Session) -> None:
    kernels = [m.replace(k, image_sha256="11" * 32) for k in session.manifest.kernels]
    session.save(m.replace(session.manifest, kernels=kernels))


def _other_build(session: Session) -> None:
    kernels = [m.replace(k, build_id="11" * 20) for k in session.manifest.kernels]
    session.save(m.replace(session.manifest, kernels=kernels))


def _other_qemu(session: Session) -> None:
    qemu = m.Qemu(version="QEMU emulator version 9.9", arguments=["qemu"])
    runs = [m.replace(run, qemu=qemu) for run in session.manifest.runs]
    session.save(m.replace(session.manifest, runs=runs))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_other_count, "run new-1 of .* differs from that of .*: counts"),
        (_other_image, "another kernel called base"),
        (_other_build, "base with build id 1111.*, not abab"),
        (_other_qemu, r"another QEMU recorded it \(version QEMU emulator version 9.9, not "),
        (_saved(order=m.Order(seed=3)), "it was recorded with --seed 3"),
        (_saved(guest=m.Guest(memory=256, append="", settle=5.0, timeout=600.0)), "--memory 256"),
        (
            _saved(workload=m.Workload(argv=["x"], guest_argv=["x"], kind="program", files=[])),
            r"another workload \(x",
        ),
        (_saved(points=[m.Point({"n": "1"}, 1), m.Point({"n": "2"}, 1)]), "another sweep"),
    ],
)
def test_what_is_no_shard_of_the_same_plan_is_refused(
    whole: Session, tmp_path: Path, change: Callable[[Session], None], said: str
) -> None:
    session = whole
    if change is _other_qemu:
        _other_qemu(session)
        version = "QEMU emulator version 7.2"
        runs = [
            m.replace(run, qemu=m.replace(run.qemu, version=version))
            for run in session.manifest.runs
            if run.qemu
        ]
        session.save(m.replace(session.manifest, runs=runs))
    shutil.copytree(session.folder, tmp_path / "other")
    change(Session.open(tmp_path / "other"))
    with pytest.raises(InputError, match=said) as error:
        merge(tmp_path / "all", [session.folder, tmp_path / "other"])
    assert "\n" not in str(error.value)
    assert not (tmp_path / "all").exists()


def _with(session: Session, folder: Path, **changed: object) -> Path:
    """A shard with a kernel x, of which ``changed`` says what it is."""
    shutil.copytree(session.folder, folder)
    made = Session.open(folder)
    kernel = m.Kernel(label="x", spec="x", **{"image_sha256": "cc" * 32, **changed})  # type: ignore[arg-type]
    made.save(m.replace(made.manifest, kernels=[*made.manifest.kernels, kernel]))
    return folder


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({}, {"image_sha256": "dd" * 32}, "another kernel called x"),
        ({"build_id": "cc" * 20}, {"build_id": "dd" * 20}, "x with build id dddd.*, not cccc"),
    ],
)
def test_what_the_first_shard_lacks_is_compared_too(
    whole: Session, tmp_path: Path, one: dict[str, str], other: dict[str, str], said: str
) -> None:
    first = _shard(whole, tmp_path / "first", "base").folder
    shards = [_with(whole, tmp_path / "1", **one), _with(whole, tmp_path / "2", **other)]
    with pytest.raises(InputError, match=said):
        merge(tmp_path / "all", [first, *shards])
    assert not (tmp_path / "all").exists()
    # A target that is there plays no other part than the first shard.
    merge(tmp_path / "all", [first, shards[0]])
    with pytest.raises(InputError, match=said):
        merge(tmp_path / "all", [shards[1]])
    (found,) = merge(tmp_path / "all", [shards[0]])
    assert [kernel.label for kernel in found.manifest.kernels] == ["base", "new", "x"]


def test_options_that_the_first_shard_lacks_are_compared_too(
    whole: Session, tmp_path: Path
) -> None:
    """Of a collector that only the others have, which the first has no option of."""
    shards = [whole.folder]
    for seconds in (1.0, 2.0):
        folder = tmp_path / f"{seconds}"
        shutil.copytree(whole.folder, folder)
        made = Session.open(folder)
        options = {**made.manifest.options, "sample_seconds": seconds}
        made.save(m.replace(made.manifest, options=options))
        shards.append(folder)
    with pytest.raises(InputError, match="it was recorded with"):
        merge(tmp_path / "all", shards)
    assert not (tmp_path / "all").exists()
    merge(tmp_path / "all", shards[:2])


def test_what_failed_in_one_place_only_is_there(whole: Session, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "failed")
    session = Session.open(tmp_path / "failed")
    failed = [
        m.replace(run, failure=m.Failure("timeout", "late"), measured=[])
        for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=failed))
    for order in ([session.folder, whole.folder], [whole.folder, session.folder]):
        shutil.rmtree(tmp_path / "all", ignore_errors=True)
        (found,) = merge(tmp_path / "all", order)
        assert found.manifest.runs == whole.manifest.runs


def test_a_merge_that_is_killed_leaves_the_target_as_it_was(
    whole: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _shards(whole, tmp_path)
    merge(tmp_path / "all", [first])
    before = Session.open(tmp_path / "all").manifest

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(merged, "_copy_others", killed)
    for target in ("all", "new"):
        with pytest.raises(KeyboardInterrupt):
            merge(tmp_path / target, [second])
    assert Session.open(tmp_path / "all").manifest == before
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()
    (found,) = merge(tmp_path / "all", [second])
    assert _told(found.manifest) == _told(whole.manifest)


def _elsewhere(session: Session) -> None:
    run = session.manifest.runs[0]
    files = {**run.files, "stdout": "manifest.json"}
    session.save(m.replace(session.manifest, runs=[m.replace(run, files=files)]))


def _link_out(session: Session) -> None:
    path = session.path(session.manifest.runs[0].files["counts"])
    path.unlink()
    path.symlink_to("/etc/passwd")


def _fifo(session: Session) -> None:
    path = session.path(session.manifest.runs[0].files["counts"])
    path.unlink()
    os.mkfifo(path)


def _gone(session: Session) -> None:
    session.path(session.manifest.runs[0].files["counts"]).unlink()


@pytest.mark.parametrize("spoil", [_elsewhere, _link_out, _fifo, _gone])
def test_a_hostile_shard_is_refused(
    whole: Session, tmp_path: Path, spoil: Callable[[Session], None]
) -> None:
    spoil(whole)
    with pytest.raises(SessionError) as error:
        merge(tmp_path / "all", [whole.folder])
    assert "\n" not in str(error.value)
    assert not (tmp_path / "all").exists()


def test_what_is_recorded_into_is_left_alone(whole: Session, tmp_path: Path) -> None:
    first, second = _shards(whole, tmp_path)
    merge(tmp_path / "all", [first])
    with recording(tmp_path / "all"), pytest.raises(InputError, match="another process"):
        merge(tmp_path / "all", [second])


def test_a_folder_that_holds_something_else_is_no_target(whole: Session, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all/mine").touch()
    with pytest.raises(InputError, match="not empty"):
        merge(tmp_path / "all", [whole.folder])
    result = profdiff("merge", tmp_path / "x", tmp_path / "none", status=2)
    assert "is not a session" in error_line(result)
    result = profdiff("merge", whole.folder, whole.folder, status=2)
    assert "is the target and a shard" in error_line(result)


def _suite(folder: Path, whole: Session, **workloads: list[str]) -> Path:
    told = [SuiteWorkload(name=name) for name in ("a", "b")]
    made = Suite.create(folder, "small", ["profdiff"], told)
    for name, kernels in workloads.items():
        _shard(whole, made.part(name), *kernels)
    return folder


def test_suites_are_merged_workload_by_workload(whole: Session, tmp_path: Path) -> None:
    one = _suite(tmp_path / "1", whole, a=["base", "new"], b=["new"])
    other = _suite(tmp_path / "2", whole, b=["base"])
    found = merge(tmp_path / "all", [one, other])
    assert [session.folder.name for session in found] == ["a", "b"]
    for session in found:
        assert _told(session.manifest) == _told(whole.manifest)
    assert [one.name for one, _, _ in Suite.open(tmp_path / "all").recorded()] == ["a", "b"]
    with pytest.raises(InputError, match=r"is a session, and .* is a suite"):
        merge(tmp_path / "mixed", [one, whole.folder])


def test_workloads_that_no_shard_began_are_named(whole: Session, tmp_path: Path) -> None:
    one = _suite(tmp_path / "1", whole, a=["base"])
    said = profdiff("merge", tmp_path / "all", one).stdout
    assert "1 run of the plan is in no shard" in said
    assert "1 workload has no run in any shard: b\n" in said
    other = _suite(tmp_path / "2", whole, a=["new"], b=["base", "new"])
    assert "in any shard" not in profdiff("merge", tmp_path / "all", other).stdout


def test_other_workloads_are_refused(whole: Session, tmp_path: Path) -> None:
    one = _suite(tmp_path / "1", whole, a=["base"])
    other = _suite(tmp_path / "2", whole, a=["new"])
    Suite.open(other).with_workloads([SuiteWorkload(name="c")])
    with pytest.raises(InputError, match=r"only .*2 has the workload c"):
        merge(tmp_path / "all", [one, other])
    written = json.loads((other / "suite.json").read_text())
    (other / "suite.json").write_text(json.dumps({**written, "schema": "x"}))
    with pytest.raises(ProfdiffError, match="has schema"):
        merge(tmp_path / "all", [one, other])


def test_joined_chains_are_those_of_all_places(whole: Session) -> None:
    symbols = [kernel.symbols for kernel in whole.manifest.kernels]
    chains = Chains.load(whole.path(symbols[0] or ""))
    half = len(chains) // 2
    parts = [chains.taken(np.arange(half)), chains.taken(np.arange(half, len(chains)))]
    user = int((chains.address[:half] < KERNEL_HALF).sum())
    parts = [
        replace(one, code=code)
        for one, code in zip(parts, (chains.code[:user], chains.code[user:]), strict=True)
    ]
    joined = joined_chains(parts[::-1])
    assert np.array_equal(joined.code, chains.code)
    assert np.array_equal(joined.address, chains.address)
    assert np.array_equal(joined.offsets, chains.offsets)
    names = [
        [one.strings[one.function_name[one.frame_function[frame]]] for frame in one.frames]
        for one in (joined, chains)
    ]
    assert names[0] == names[1]
