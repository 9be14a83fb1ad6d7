"""Two made-up recordings that are compared: what pairs of kernels there are, what is refused with
its reason, and what a stranger's recording cannot do."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from support import error_line, profdiff
from synthetic import example
from synthetic_experiment import ICOUNT
from synthetic_joint import joint
from synthetic_session import exact_session

from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.recording.compared import Side, compare
from profdiff.session import manifest as m
from profdiff.session import opened
from profdiff.session.held import COMPILER, LABEL
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

FILE = m.WorkloadFile(guest_path="/work/work", sha256="00" * 32, executable=True)
AGENT = m.WorkloadFile(guest_path="/profdiff/agent", sha256="00" * 32, executable=True)
SWEEP = [m.Point(parameters={"size": size}, cpus=1, ops=10) for size in ("4", "8", "16")]


def recorded(folder: Path, *rows: str, **labels: str) -> Session:
    """A session of some of the example's kernels under their own labels, or under others."""
    known = example()
    named = {**{row: row for row in rows}, **labels}
    session = exact_session(folder, {label: known[row] for label, row in named.items()})
    kernels = [m.replace(one, release="6.1.0") for one in session.manifest.kernels]
    runs = []
    for run in session.manifest.runs:
        total = float(sum(row[3][0] for row in known[named[run.kernel]]))
        counted = m.Measured("instructions", "instructions", "lower", True, [total])
        qemu = m.replace(ICOUNT, version="QEMU emulator version 7.2.22", plugin_api=1)
        runs.append(m.replace(run, measured=[counted], qemu=qemu))
    session.save(m.replace(session.manifest, kernels=kernels, runs=runs))
    return session


def made(target: Path, one: Path | str, other: Path | str) -> list[str]:
    """What is left out of the comparison that is made."""
    return compare(target, (_side(one), _side(other)), ["profdiff", "compare"])


def _side(text: Path | str) -> Side:
    label, _, folder = str(text).rpartition("=")
    return Side(Path(folder), label)


def labels(folder: Path) -> list[str]:
    return [kernel.label for kernel in Session.open(folder).manifest.kernels]


def _without_recordings(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if ": recorded 2" not in line)


def test_it_is_as_if_one_command_had_recorded_both(tmp_path: Path) -> None:
    base, new = example()
    whole = recorded(tmp_path / "whole", base, new)
    for label in (base, new):
        recorded(tmp_path / f"{label}.profdiff", label)
    said = profdiff("compare", f"{base}.profdiff", f"{new}.profdiff", cwd=tmp_path)
    folder = tmp_path / f"{base}-vs-{new}.profdiff"
    report = profdiff("report", folder).stdout
    assert said.stdout == f"{report}\nprofdiff report {folder.name}\n"
    assert not said.stderr
    assert _without_recordings(report) == profdiff("report", whole.folder).stdout
    for form in ("--csv", "--folded-diff"):
        assert (
            profdiff("report", folder, form, "-").stdout
            == profdiff("report", whole.folder, form, "-").stdout
        )
    assert "recorded 2026-11-20T22:00:00Z in" in report


def test_a_recording_alone_explains_only_what_it_has(tmp_path: Path) -> None:
    base, _ = example()
    said = profdiff("report", recorded(tmp_path / "a", base).folder).stdout
    assert "self counts" in said
    assert "relative to" not in said


def test_files_are_linked_and_nothing_of_a_recording_changes(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    before = {path: path.read_bytes() for path in one.folder.rglob("*") if path.is_file()}
    made(tmp_path / "c", one.folder, other.folder)
    counts = f"runs/{base}-1/counts"
    assert (tmp_path / "c" / counts).samefile(one.folder / counts)
    profdiff("report", tmp_path / "c", "--html", tmp_path / "page.html")
    shutil.rmtree(tmp_path / "c")
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("mine", "its", "named", "found"),
    [
        ("a", "b", ["base"], ["base", "new"]),
        # The folders call them, or their parents where those are alike.
        ("mon.profdiff", "tue.profdiff", ["x"], ["mon", "tue"]),
        ("mon/s.profdiff", "tue/s.profdiff", ["x"], ["mon", "tue"]),
        ("old=mon", "new=tue", ["x"], ["old", "new"]),
        ("old=mon", "tue", ["x"], ["old", "tue"]),
    ],
)
def test_what_a_single_pair_is_called(
    mine: str, its: str, named: list[str], found: list[str], tmp_path: Path
) -> None:
    base, new = example()
    first, second = (text.rpartition("=")[2] for text in (mine, its))
    recorded(tmp_path / first, **{named[0]: base})
    recorded(tmp_path / second, **{"new" if named == ["base"] else named[0]: new})
    words = [
        text.replace(folder, str(tmp_path / folder))
        for text, folder in ((mine, first), (its, second))
    ]
    assert made(tmp_path / "c", *words) == []
    assert labels(tmp_path / "c") == found
    runs = Session.open(tmp_path / "c").manifest.runs
    assert [run.id for run in runs] == [f"{label}-1" for label in found]


def test_each_label_is_compared_with_the_same_label(tmp_path: Path) -> None:
    base, new = example()
    one = recorded(tmp_path / "mon", base=base, v1=base, gone=base)
    other = recorded(tmp_path / "tue", base=base, v1=new)
    assert made(tmp_path / "c", one.folder, other.folder) == [
        f"left out: only {one.folder} has the label gone"
    ]
    found = opened.open(tmp_path / "c")
    assert isinstance(found, Parts)
    assert (found.kind, found.names) == (LABEL, ["base", "v1"])
    assert [labels(one.folder) for one in found.sessions().values()] == [["mon", "tue"]] * 2
    said = profdiff("report", tmp_path / "c").stdout
    assert said.startswith("A change for some labels, none for others: unchanged for base, ")
    check = profdiff("check", tmp_path / "c", "--fail-if", "instructions > +1%", status=1)
    assert "tue for v1" in check.stdout


@pytest.mark.parametrize(
    ("mine", "its", "found"),
    [
        (["base", "v1"], ["base", "v2"], ["base", "v1-v2"]),
        (["v1"], ["v2", "v3"], ["v1-v2", "v1-v3"]),
        (["v1", "v2"], ["v3"], ["v1-v3", "v2-v3"]),
    ],
)
def test_a_single_kernel_that_is_left_is_compared_with_another_label(
    mine: list[str], its: list[str], found: list[str], tmp_path: Path
) -> None:
    base, new = example()
    one = recorded(tmp_path / "a", **dict.fromkeys(mine, base))
    other = recorded(tmp_path / "b", **dict.fromkeys(its, new))
    assert made(tmp_path / "c", one.folder, other.folder) == []
    parts = opened.open(tmp_path / "c")
    assert isinstance(parts, Parts)
    assert parts.names == found


def test_labels_that_do_not_meet_are_refused(tmp_path: Path) -> None:
    base, new = example()
    one = recorded(tmp_path / "a", v1=base, v2=base)
    other = recorded(tmp_path / "b", v3=new, v4=new)
    with pytest.raises(InputError, match=r"a has v1, v2, .*b v3, v4: record with the same label"):
        made(tmp_path / "c", one.folder, other.folder)
    assert not (tmp_path / "c").exists()


def _changed(**fields: object) -> Callable[[m.Manifest], m.Manifest]:
    return lambda manifest: m.replace(manifest, **fields)


def _workload(**fields: object) -> Callable[[m.Manifest], m.Manifest]:
    return lambda one: m.replace(one, workload=m.replace(one.workload, **fields))


def _guest(**fields: object) -> Callable[[m.Manifest], m.Manifest]:
    return lambda one: m.replace(one, guest=m.replace(one.guest, **fields))


def _runs(**fields: object) -> Callable[[m.Manifest], m.Manifest]:
    return lambda one: m.replace(one, runs=[m.replace(run, **fields) for run in one.runs])


def _qemu(**fields: object) -> Callable[[m.Manifest], m.Manifest]:
    return lambda one: _runs(qemu=m.replace(one.runs[0].qemu, **fields))(one)


UNLIKE = {
    "memory": (_guest(memory=1024), "--memory 512M, {b} with --memory 1024M: record one of them"),
    "append": (_guest(append="a b"), "no --append, {b} with --append 'a b'"),
    "settle": (_guest(settle=0.0), "--settle 5, {b} with --settle 0"),
    "cpu": (_guest(cpu="Nehalem"), "no --cpu, {b} with --cpu Nehalem"),
    "restored": (_guest(restored=True), "--no-restore, {b} with --restore"),
    "machine": (_changed(guest=None), "guests, {b} with a machine: record both in guests, or both"),
    "vCPUs": (
        _changed(points=[m.Point(cpus=2)]),
        "vCPUs=1 (unknown ops), {b} with the point vCPUs=2 (",
    ),
    "ops": (
        _changed(points=[m.Point(cpus=1, ops=7)]),
        "vCPUs=1 (unknown ops), {b} with the point vCPUs=1 (7 ops)",
    ),
    "command": (
        _workload(guest_argv=["/work/work", "2"], argv=["./work", "2"]),
        "the program ./work 1, {b} with the program ./work 2",
    ),
    "copies": (_workload(copies=2), "--copies 1, {b} with --copies 2"),
    "file": (
        _workload(files=[replace(FILE, sha256="11" * 32), AGENT]),
        "/work/work (sha256 000000000000), {b} with /work/work (sha256 111111111111): record both "
        "with the same file",
    ),
    "agent": (
        _workload(files=[FILE, replace(AGENT, sha256="11" * 32)]),
        "(sha256 111111111111): record both with the same profdiff",
    ),
    "option": (_changed(options={"call_tree": False}), "--call-tree, {b} with --no-call-tree"),
    "boots": (_changed(order=m.Order(vary=True)), "no --vary-boots, {b} with --vary-boots"),
    "profdiff": (_changed(profdiff="0.0.9"), "profdiff 0.1.0, {b} with profdiff 0.0.9"),
    "QEMU": (_qemu(version="QEMU emulator version 9"), "version 7.2.22, {b} with QEMU emulator"),
    "plugin": (_qemu(plugin_api=2), "QEMU's plugin api 1, {b} with QEMU's plugin api 2"),
    "samples": (
        _runs(sampling=m.Sampling(version="6", command=[], events=["cpu-clock"], period=9)),
        "perf's events cycles, {b} with perf's events cpu-clock",
    ),
    "collector": (
        lambda one: _runs(collector="perf")(m.replace(one, collectors=["perf"])),
        "--collector exact, {b} with --collector perf",
    ),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_what_was_measured_otherwise_is_refused_with_the_reason(what: str, tmp_path: Path) -> None:
    change, said = UNLIKE[what]
    base, new = example()
    for name, label in (("a", base), ("b", new)):
        session = recorded(tmp_path / name, label)
        sampling = m.Sampling(version="5", command=[], events=["cycles"], period=9)
        given = _runs(sampling=sampling)(session.manifest)
        given = m.replace(given, options={"call_tree": True})
        session.save(_workload(files=[FILE, AGENT])(given))
    session.save(change(session.manifest))
    line = error_line(profdiff("compare", "a", "b", cwd=tmp_path, status=2))
    assert line.startswith("a was recorded with ")
    assert said.format(b="b") in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_other_seeds_matter_in_varied_states_alone(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    other.save(m.replace(other.manifest, order=m.Order(seed=3)))
    made(tmp_path / "c", one.folder, other.folder)
    for session in (one, other):
        varied = m.replace(session.manifest.runs[0], state=1, id="x", files={})
        session.save(m.replace(session.manifest, runs=[*session.manifest.runs, varied]))
    with pytest.raises(InputError, match=r"--seed 0, .* with --seed 3"):
        made(tmp_path / "d", one.folder, other.folder)


def test_other_hardware_is_refused_and_samples_are_said_to_be_of_two_times(tmp_path: Path) -> None:
    base, new = example()
    for name, label, processor in (("a", base, "X"), ("b", new, "X"), ("c", new, "Y")):
        said = f"processor {processor}\ncpus 4\n".encode()
        session = exact_session(tmp_path / name, {label: example()[label]}, {"environment": said})
        run = m.replace(session.manifest.runs[0], qemu=None, collector="timed", window=None)
        timed = m.Measured("elapsed", "s", "lower", False, [1.0])
        run = m.replace(run, instructions=None, measured=[timed])
        session.save(m.replace(session.manifest, runs=[run], collectors=["timed"], guest=None))
    with pytest.raises(InputError, match=r"processor X, .*c with processor Y: record both on one"):
        made(tmp_path / "d", tmp_path / "a", tmp_path / "c")
    made(tmp_path / "d", tmp_path / "a", tmp_path / "b")
    said = profdiff("report", tmp_path / "d").stdout
    assert "not in turns" in said


def test_points_that_both_have_are_compared(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    for session, points in ((one, SWEEP[:2]), (other, SWEEP[:0:-1])):
        (run,) = session.manifest.runs
        runs = [m.replace(run, id=f"r{point}", point=point) for point in range(2)]
        for each in runs[1:]:
            shutil.copytree(session.folder / "runs" / run.id, session.folder / "runs" / each.id)
        shutil.copytree(session.folder / "runs" / run.id, session.folder / "runs/r0")
        shutil.rmtree(session.folder / "runs/r1")
        shutil.copytree(session.folder / "runs/r0", session.folder / "runs/r1")
        runs = [m.replace(each, files={"counts": f"runs/{each.id}/counts"}) for each in runs]
        session.save(m.replace(session.manifest, points=points, runs=runs, checksums={}))
    assert made(tmp_path / "c", one.folder, other.folder) == [
        f"left out: only {one.folder} has the point size=4",
        f"left out: only {other.folder} has the point size=16",
    ]
    manifest = Session.open(tmp_path / "c").manifest
    assert manifest.points == [SWEEP[1]]
    assert [(run.id, run.point) for run in manifest.runs] == [
        (f"{base}-exact-1", 0),
        (f"{new}-exact-1", 0),
    ]


def test_two_lengths_stay_together(tmp_path: Path) -> None:
    base, new = example()
    pair = [m.Point(cpus=1, ops=1), m.Point(cpus=1, ops=3, shorter=0)]
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    for session, points in ((one, pair), (other, [*SWEEP, *pair])):
        if points is not pair:
            points = [*SWEEP, pair[0], m.replace(pair[1], shorter=3)]
        session.save(m.replace(session.manifest, points=points))
    made(tmp_path / "c", one.folder, other.folder)
    assert Session.open(tmp_path / "c").manifest.points == pair


@pytest.mark.parametrize("ops", [1, 3])
def test_two_lengths_are_not_compared_with_one(ops: int, tmp_path: Path) -> None:
    """Nor is a run that is only subtracted a point to compare, of whatever it is the half."""
    base, new = example()
    pair = [m.Point(cpus=1, ops=1), m.Point(cpus=1, ops=3, shorter=0)]
    whole, other = [m.Point(cpus=1, ops=ops)], [pair[0], m.replace(pair[1], ops=2)]
    one = recorded(tmp_path / "a", base)
    one.save(m.replace(one.manifest, points=pair))
    for number, points in enumerate((whole, other)):
        session = recorded(tmp_path / f"b{number}", new)
        session.save(m.replace(session.manifest, points=points))
        with pytest.raises(InputError, match=r"vCPUs=1 \(1 and 3 ops\), .* with the point vCPUs=1"):
            made(tmp_path / "c", one.folder, session.folder)


def _suite(folder: Path, kernel: str, names: dict[str, str]) -> Suite:
    described = [SuiteWorkload(name=name) for name in names]
    suite = Suite.create(folder, "s", ["profdiff", "record", "--suite", "s"], described)
    for name, argument in names.items():
        session = recorded(suite.part(name), kernel)
        argv = {"argv": ["./work", argument], "guest_argv": ["./work", argument]}
        session.save(_workload(**argv)(session.manifest))
    return suite


def test_a_suite_is_compared_cell_by_cell(tmp_path: Path) -> None:
    base, new = example()
    _suite(tmp_path / "a", base, {"same": "1", "other": "2", "gone": "3"})
    _suite(tmp_path / "b", new, {"more": "1", "same": "1", "other": "9"})
    said = profdiff("compare", "a", "b", "-o", "c", cwd=tmp_path)
    assert said.stderr.splitlines() == [
        "left out: only a has the workload gone",
        "left out: only b has the workload more",
        "left out: other: a was recorded with the program ./work 2, b with the program ./work 9: "
        "record one of them again with what the other has",
    ]
    found = opened.open(tmp_path / "c")
    assert isinstance(found, Suite)
    assert list(found.sessions()) == ["same"]
    assert labels(tmp_path / "c/same") == [base, new]
    assert said.stdout.startswith(profdiff("report", "c", cwd=tmp_path).stdout)


def test_a_suite_without_a_common_cell_is_refused(tmp_path: Path) -> None:
    base, new = example()
    one, other = (
        _suite(tmp_path / name, kernel, {"w": name}) for name, kernel in (("a", base), ("b", new))
    )
    with pytest.raises(InputError, match=r"no workload can be compared: .* ./work a, .* ./work b"):
        made(tmp_path / "c", one.folder, other.folder)
    assert not (tmp_path / "c").exists()


def test_compilers_are_compared_one_by_one(tmp_path: Path) -> None:
    one, other = (joint(tmp_path / name, kind=COMPILER) for name in "ab")
    with pytest.raises(InputError, match=r"several compilers and several kernels: compare one"):
        made(tmp_path / "c", one.folder, other.folder)
    for parts in (one, other):
        for session in parts.sessions().values():
            (kernel, *_) = session.manifest.kernels
            runs = [run for run in session.manifest.runs if run.kernel == kernel.label]
            session.save(m.replace(session.manifest, kernels=[kernel], runs=runs))
    made(tmp_path / "c", one.folder, other.folder)
    found = opened.open(tmp_path / "c")
    assert isinstance(found, Parts)
    assert (found.kind, found.names) == (COMPILER, one.names)


def test_what_is_not_a_recording_of_its_own_is_refused(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    made(tmp_path / "c", one.folder, other.folder)
    for words, told in (
        (["c", "a"], "c compares recordings: name those themselves"),
        (["a", "a"], "a is given twice: name two recordings"),
        (["x=a", "x=b"], "both recordings are called x: give each its own LABEL=SESSION"),
        (["a", "b", "-o", "c"], "-o c: the folder is not empty, it holds a session"),
        (["a", "nowhere"], "nowhere is not a session: there is no such folder"),
    ):
        line = error_line(profdiff("compare", *words, cwd=tmp_path, status=2))
        assert told in line
    suite = _suite(tmp_path / "s", base, {"w": "1"})
    with pytest.raises(InputError, match=r"s has a suite, .*a a session: compare like ones"):
        made(tmp_path / "d", suite.folder, one.folder)


def test_a_damaged_recording_is_refused(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    with other.path(f"runs/{new}-1/counts").open("ab") as file:
        file.write(b"x")
    with pytest.raises(SessionError, match=r"/b: run .* is left out: .* is damaged: .* record it"):
        made(tmp_path / "c", one.folder, other.folder)


def test_other_damage_is_told(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    (other.folder / "output").write_bytes(b"of the run")
    place = other.folder / f"runs/{new}-1/stdout"
    (other.folder / "output").rename(place)
    (run,) = other.manifest.runs
    files = {**run.files, "stdout": f"runs/{new}-1/stdout"}
    other.save(_runs(files=files)(other.manifest))
    place.write_bytes(b"of another")
    (line,) = made(tmp_path / "c", one.folder, other.folder)
    assert line.startswith(f"left out: {other.folder}: runs/{new}-1/stdout is damaged: ")
    assert "stdout" not in Session.open(tmp_path / "c").manifest.runs[1].files


def test_what_has_no_run_yet_is_refused(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    other.save(m.replace(other.manifest, runs=[]))
    for sides in ((one, other), (other, one)):
        with pytest.raises(InputError, match=f"/b has no run of {new}: record it"):
            made(tmp_path / "c", *(side.folder for side in sides))
    assert not (tmp_path / "c").exists()


def test_other_contents_of_a_sides_program_are_refused(tmp_path: Path) -> None:
    """Another name of a program is intended."""
    base, new = example()
    folders = []
    for name, label, digits, program in (
        ("a", base, "00", "./x"),
        ("b", new, "11", "./x"),
        ("c", new, "11", "./y"),
    ):
        session = recorded(tmp_path / name, label)
        (kernel,) = session.manifest.kernels
        kernel = m.replace(
            kernel,
            variant=m.Variant(program=f"program={program}"),
            files=[replace(FILE, sha256=digits * 32)],
        )
        session.save(m.replace(session.manifest, kernels=[kernel]))
        folders.append(session.folder)
    with pytest.raises(
        InputError, match=r"/work/work \(sha256 0+\), .* \(sha256 1+\): record both"
    ):
        made(tmp_path / "d", folders[0], folders[1])
    assert made(tmp_path / "d", folders[0], folders[2]) == []


def test_labels_that_our_files_have(tmp_path: Path) -> None:
    """No kernel's symbols take the place of another's, or of the sums over all."""
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    for number, labels in enumerate((("functions", "events"), ("x", "x.code"))):
        target = tmp_path / f"c{number}"
        sides = zip(labels, (one, other), strict=True)
        made(target, *(f"{label}={side.folder}" for label, side in sides))
        session = Session.open(target)
        files = [session.manifest.functions, session.manifest.events]
        for kernel in session.manifest.kernels:
            files += [kernel.symbols, kernel.code, kernel.accesses]
        known = [file for file in files if file]
        assert {f"symbols/{label}.npz" for label in labels} < set(known)
        assert len(set(known)) == len(known)
        said = profdiff("report", target).stdout
        assert said.startswith(f"{labels[1]} executes ")


@pytest.mark.parametrize("label", ["..", "é", "", "x" * 65])
def test_a_label_that_is_none_is_refused(label: str, tmp_path: Path) -> None:
    for name, kernel in zip("ab", example(), strict=True):
        recorded(tmp_path / name, kernel)
    line = error_line(profdiff("compare", f"{label}=a", "b", cwd=tmp_path, status=2))
    assert "is not a valid label: use letters" in line


def _linked(session: Session, folder: Path) -> None:
    path = session.folder / session.manifest.runs[0].files["counts"]
    path.rename(path.with_name("counted"))
    path.symlink_to("counted")


def _outside(session: Session, folder: Path) -> None:
    (folder / "secret").write_bytes(b"secret")
    path = session.folder / session.manifest.runs[0].files["counts"]
    path.unlink()
    path.symlink_to(folder / "secret")
    session.save(m.replace(session.manifest, checksums={}))


def _elsewhere(session: Session, folder: Path) -> None:
    files = {"counts": session.manifest.runs[0].files["counts"], "config": "manifest.json"}
    session.save(_runs(files=files)(session.manifest))


def _many(session: Session, folder: Path) -> None:
    (run,) = session.manifest.runs
    session.save(_runs(files={f"{n}": run.files["counts"] for n in range(300)})(session.manifest))


@pytest.mark.parametrize("harm", [_linked, _outside, _elsewhere, _many])
def test_a_strangers_recording_is_refused(
    harm: Callable[[Session, Path], None], tmp_path: Path
) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    harm(other, tmp_path)
    with pytest.raises(ProfdiffError, match="refused"):
        made(tmp_path / "c", one.folder, other.folder)
    assert not (tmp_path / "c").exists()


def test_ids_that_would_meet_get_another_number(tmp_path: Path) -> None:
    base, new = example()
    one, other = recorded(tmp_path / "a", base), recorded(tmp_path / "b", new)
    (run,) = other.manifest.runs
    name = f"{base}-1"
    shutil.move(other.folder / "runs" / run.id, other.folder / "runs" / name)
    files = {"counts": f"runs/{name}/counts"}
    other.save(_runs(id=name, files=files)(m.replace(other.manifest, checksums={})))
    made(tmp_path / "c", one.folder, other.folder)
    ids = [one.id for one in Session.open(tmp_path / "c").manifest.runs]
    assert len(set(ids)) == 2
    assert ids[1].startswith(new)


def test_nothing_is_recorded_into_a_comparison(tmp_path: Path) -> None:
    base, new = example()
    one = recorded(tmp_path / "a", base=base, new=new)
    other = recorded(tmp_path / "b", base=base, new=new)
    made(tmp_path / "c", one.folder, other.folder)
    words = ["record", "--kernel", "a=x", "--kernel", "b=y", "-o"]
    line = error_line(profdiff(*words, tmp_path / "c", "--", "true", status=2))
    assert "c compares other recordings: record into one of those" in line


def test_the_mail_tells_how_both_were_recorded(tmp_path: Path) -> None:
    base, new = example()
    for name, label in (("a", base), ("b", new)):
        session = recorded(tmp_path / name, label)
        command = ["profdiff", "record", "--kernel", label, "--", f"./{name}"]
        session.save(m.replace(session.manifest, command=command))
    profdiff("compare", "a", "b", "-o", "c.profdiff", cwd=tmp_path)
    mail = profdiff("mail", "c.profdiff", "--from", "A <a@example.org>", cwd=tmp_path).stdout
    commands = mail[mail.index("How to reproduce:") :].splitlines()[1:4]
    assert commands == [
        f"  profdiff record --kernel {base} -o a -- ./a",
        f"  profdiff record --kernel {new} -o b -- ./b",
        "  profdiff compare a b -o c.profdiff",
    ]
