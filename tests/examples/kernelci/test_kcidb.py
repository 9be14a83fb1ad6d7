"""Judged conditions as KCIDB takes them, validated by KernelCI's own schema package."""

import ast
import json
import os
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from kernelci_programs import started
from msgspec.structs import replace
from support import profdiff
from synthetic import Row, frame
from synthetic_joint import joint, part
from synthetic_session import exact_session

import profdiff as profdiff_package
from profdiff.examples.kernelci import kcidb
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload

ONE = [m.Point({}, 1, 1000)]


def row(name: str, count: int) -> Row:
    return ([frame(name)], name, True, [count])


def told_apart(session: Session, name: str) -> None:
    """Give each kernel a build id of its own, as a build has."""
    kernels = [
        m.replace(one, build_id=sha1(f"{name} {one.label}".encode()).hexdigest())  # noqa: S324
        for one in session.manifest.kernels
    ]
    session.save(m.replace(session.manifest, kernels=kernels))


def valid(text: str) -> Any:
    """What a submission holds. Asserts that KernelCI's package of the schema accepts it."""
    schemas = pytest.importorskip("kcidb_io", reason="kcidb-io is not installed")
    data = json.loads(text)
    version = schemas.schema.V5_3
    assert (version.major, version.minor) == (data["version"]["major"], data["version"]["minor"])
    assert version.is_valid_exactly(data), version.validate_exactly(data)
    return data


def submitted(*words: str | Path, status: int = 0) -> Any:
    return valid(started("kcidb", *words, "--origin", "lab_1", status=status).stdout)


def test_a_test_for_each_kernel_and_condition(tmp_path: Path) -> None:
    """Of architectures, each has its builds; the ids are the same whenever the file is written."""
    parts = joint(tmp_path / "mm.profdiff")
    for name, session in parts.sessions().items():
        told_apart(session, name)
    folder = Path(parts.folder)
    words = (folder, "--fail-if", "instructions > +50%", "--fail-if", "instructions:flush > +1/op")
    data = submitted(*words, status=1)
    said = profdiff("check", *words, status=1).stdout.splitlines()
    told = [
        f"{v.partition(': ')[2]}: {s.strip()}" for v, s in zip(said[::2], said[1::2], strict=True)
    ]
    assert [one["comment"] for one in data["tests"]] == told
    outcomes = {"fails": "FAIL", "passes": "PASS"}
    assert [one["status"] for one in data["tests"]] == [
        outcomes[v.split(":")[0]] for v in said[::2]
    ]
    first = data["tests"][0]
    assert first["path"] == "profdiff.mm.x86_64.folio_kib_4.instructions.total"
    assert first["number"] == {"value": 390.0, "unit": "instructions/op"}
    builds = {one["id"]: one for one in data["builds"]}
    assert {builds[one["build_id"]]["architecture"] for one in data["tests"]} == {"x86_64", "arm64"}
    assert {one["misc"]["base"] for one in data["tests"]} <= builds.keys()
    assert {one["checkout_id"] for one in data["builds"]} == {
        one["id"] for one in data["checkouts"]
    }
    assert len({one["id"] for one in data["tests"]}) == len(data["tests"]) == 8
    assert submitted(*words, status=1) == data


def test_cells_of_a_suite_and_what_is_not_known(tmp_path: Path) -> None:
    """A run that failed says nothing of the code; an inconclusive number does not either."""
    names = ("getpid", "gone")
    suite = Suite.create(tmp_path / "S", "s", [], [SuiteWorkload(name=name) for name in names])
    for name in names:
        rows = {label: [row("walk", n)] for label, n in (("base", 1000), ("new", 1010))}
        made = part(suite.part(name), rows, ONE)
        if name == "gone":
            failure = m.Failure("panic", "the kernel panicked")
            runs = [
                m.replace(run, failure=failure, measured=[], files={})
                if run.kernel == "new"
                else run
                for run in made.manifest.runs
            ]
            made.save(m.replace(made.manifest, runs=runs))
    data = submitted(suite.folder, "--fail-if", "instructions > +5%", status=125)
    assert [(one["path"], one["status"]) for one in data["tests"]] == [
        ("profdiff.S.getpid.instructions.total", "PASS"),
        ("profdiff.S.gone.instructions.total", "MISS"),
    ]
    assert "number" not in data["tests"][1]


def test_what_a_kernel_was_built_from_is_its_checkout(tmp_path: Path) -> None:
    made = part(tmp_path / "S", {label: [row("enter", 9)] for label in ("base", "new")}, ONE)
    told_apart(made, "x")
    source = m.BuiltFrom(
        repository="/linux",
        commit="a" * 40,
        described="v7.1-3-gaaaa",
        subject="mm: \x00 last",
        tree="c" * 40,
        built="b" * 40,
        patches=["0001-mm.patch"],
    )
    base, new = made.manifest.kernels
    made.save(m.replace(made.manifest, kernels=[base, replace(new, source=source)]))
    data = submitted(tmp_path / "S", "--fail-if", "instructions > +1%")
    checkout = data["checkouts"][1]
    assert checkout["id"] == f"lab_1:{'c' * 40}" == data["builds"][1]["checkout_id"]
    assert (checkout["git_commit_hash"], checkout["git_commit_name"]) == ("a" * 40, "v7.1-3-gaaaa")
    assert checkout["misc"] == {"tree": "c" * 40, "changed": True, "patches": "0001-mm.patch"}


def test_a_build_that_kcidb_has_is_named_and_not_sent(tmp_path: Path) -> None:
    part(tmp_path / "S", {label: [row("enter", 9)] for label in ("base", "new")}, ONE)
    words = (tmp_path / "S", "--fail-if", "instructions > +1%", "--build")
    data = submitted(*words, "new=maestro:68a1", "--build", "base=maestro:68a0")
    assert data["builds"] == data["checkouts"] == []
    assert [(r["build_id"], r["misc"]["base"]) for r in data["tests"]] == [
        ("maestro:68a1", "maestro:68a0")
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "required: --origin"),
        (("--origin", "My-CI"), "lower-case"),
        (("--origin", "a", "--build", "new=b"), "write LABEL=ORIGIN:ID"),
        (("--origin", "a", "--build", "neu=a:b"), "no kernel of this name was judged"),
    ],
)
def test_wrong_use(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    part(tmp_path / "S", {label: [row("enter", 9)] for label in ("base", "new")}, ONE)
    said = started("kcidb", tmp_path / "S", "--fail-if", "instructions > +1%", *words, status=2)
    assert expected in said.stderr.splitlines()[-1]
    assert said.stdout == ""


def test_a_folder_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"a\xffb.profdiff")
    exact_session(folder)
    (test, *_) = submitted(folder, "--fail-if", "instructions > -99%", status=1)["tests"]
    assert test["path"].startswith("profdiff.a_b.")


def test_it_uses_nothing_but_the_interface() -> None:
    """What the folder imports of profdiff is ``profdiff``, and of that what is documented."""
    for path in Path(kcidb.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(one.name.startswith("profdiff.") for one in node.names), path
            elif isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("profdiff"), path
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "profdiff":
                assert node.attr in profdiff_package.__all__, path
