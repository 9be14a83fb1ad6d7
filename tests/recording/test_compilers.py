"""record --compilers: kernels of one repository under each of several compilers."""

import json
import shutil
from pathlib import Path

import jsonschema
import made_repository
import pytest
import small_linux
from made_repository import Made
from support import EXAMPLE, RESTORED, ROOT, error_line, need_program, profdiff, shared_states
from synthetic_joint import joint

from profdiff.base.errors import InputError, SessionError
from profdiff.session import manifest as m
from profdiff.session.held import COMPILER, held, is_compiler, is_session, refuse_occupied
from profdiff.session.parts import Parts
from profdiff.session.session import Session

COMPILERS = ["gcc-12", "gcc-11"]
BOTH = ["--compilers", ",".join(COMPILERS)]
QUICK = [*RESTORED, "--timeout", "300", "--no-observe"]


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    for name in ("git", "make", *COMPILERS, "qemu-system-x86_64"):
        need_program(name)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of what is built here."""
    return shared_states(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def repository(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A revision before the batching of mprotect() and one with it; and one that does not build."""
    small_linux.kernels(monkeypatch)
    monkeypatch.setenv("PROFDIFF_CACHE", str(cache))
    folder = tmp_path_factory.getbasetemp() / "compilers-repository"
    if not folder.exists():
        made_repository.make(
            folder,
            {
                "old": Made(small_linux.tree("v6.12.107")),
                "broken": Made(small_linux.tree("broken"), ["old"], "mm: break it"),
                "new": Made(small_linux.tree("v6.18.15"), ["broken"], "mm: batch it"),
            },
        )
    return folder


def kernels(repository: Path) -> list[str]:
    return [f"--kernel={name}=git:{repository}@{name}" for name in ("old", "new")]


def test_the_folder_is_written_and_read(tmp_path: Path) -> None:
    made = Parts.create(tmp_path / "s", COMPILERS, ["profdiff"], COMPILER)
    assert Parts.open(made.folder) == made
    assert json.loads((made.folder / "compilers.json").read_text()) == {
        "schema": "profdiff.compilers/1",
        "compilers": COMPILERS,
        "command": ["profdiff"],
    }
    assert held(made.folder) == "parts"
    more = made.with_parts(["clang-19"])
    assert Parts.open(made.folder).names == [*COMPILERS, "clang-19"]
    assert more.kind is COMPILER
    with pytest.raises(InputError, match="sessions of several compilers"):
        refuse_occupied(made.folder)
    with pytest.raises(InputError, match="each of several compilers: none is recorded yet"):
        Session.open(made.folder)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *[(name, True) for name in ("gcc", "gcc-12", "clang-19", "x86_64-linux-gnu-gcc-4.9.2")],
        *[(name, False) for name in ("", ".", "..", "a/b", "/bin/gcc", "-gcc", "gcc 12", "gcc\n")],
        *[(name, False) for name in ("compilers.json", ".lock", "gcc.", "g" * 200, "gcc-é")],
    ],
)
def test_what_a_compiler_can_be_called(tmp_path: Path, name: str, known: bool) -> None:
    assert is_compiler(name) == known
    content = {"schema": COMPILER.schema, "compilers": ["gcc", f"{name}"], "command": []}
    if name == "gcc":
        content["compilers"] = ["gcc", "gcc-12"]
    (tmp_path / "compilers.json").write_text(json.dumps(content))
    if known:
        assert list(Parts.open(tmp_path).names) == content["compilers"]
    else:
        with pytest.raises(SessionError, match="is not a program's name") as error:
            Parts.open(tmp_path)
        assert "\n" not in str(error.value)


@pytest.mark.kernel
def test_each_compiler_is_planned_alike(repository: Path, tmp_path: Path) -> None:
    more = ["--collector", "timed", "-o", tmp_path / "s", "--", EXAMPLE, "4", "20"]
    lines = profdiff(
        "plan", "--yes", *QUICK, *BOTH, *kernels(repository), *more
    ).stdout.splitlines()
    assert [line for line in lines if line.startswith(f"{tmp_path}/s/")] == [
        f"{tmp_path}/s/{name}: 2 kernels, 1 point, timed; 0 runs done, 0 failed, 2 to do"
        for name in COMPILERS
    ]
    assert not (tmp_path / "s").exists()
    # One compiler is an ordinary session.
    one = ["--compilers", "gcc-11"]
    lines = profdiff("plan", "--yes", *QUICK, *one, *kernels(repository), *more).stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path}/s: 2 kernels, 1 point")


@pytest.mark.kernel
def test_what_a_user_can_get_wrong(repository: Path, tmp_path: Path) -> None:
    joint(tmp_path / "arch")
    workload = ["-o", tmp_path / "s", "--", EXAMPLE, "4", "20"]
    git = f"git:{repository}@"
    old, new = kernels(repository)
    elsewhere = ["-o", tmp_path / "arch", "--", EXAMPLE, "4", "20"]
    for arguments, said in [
        ([*BOTH, "--arch", "x86_64", old, new, *workload], "--arch and --compilers: "),
        (
            [*BOTH, old, "--kernel=new=debian:bookworm", *workload],
            "new (debian:bookworm) is already built",
        ),
        ([*BOTH, old, f"--kernel=n={git}new,cc=gcc-12", *workload], "n says cc=gcc-12: leave"),
        ([*BOTH, old, f"--kernel=n={git}new,arch=arm64", *workload], "for different architectures"),
        (["--compilers", "gcc-12,gcc-99", old, new, *workload], "gcc-99 is not installed"),
        (["--compilers", "gcc-12,../x", old, new, *workload], "'../x': name a compiler as PATH"),
        ([*BOTH, old, new, *elsewhere], "holds a session for each of several architectures"),
        ([*BOTH, old, f"--kernel=x={git}broken", *workload], "there_is_no_such_variable"),
    ]:
        line = error_line(profdiff("record", *QUICK, *arguments, status=2))
        assert said in line, line
        assert not (tmp_path / "s").exists()


@pytest.fixture
def several(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded once: two kernels under two compilers, four boots."""
    folder = tmp_path_factory.getbasetemp() / "several-compilers"
    if not folder.exists():
        words = [*QUICK, *BOTH, *kernels(repository), "--ops", "20", "--", EXAMPLE, "4", "20"]
        result = profdiff("record", "-o", folder / "s.profdiff", *words)
        (folder / "stdout").write_text(result.stdout)
    return folder / "s.profdiff"


@pytest.mark.guest
def test_kernels_are_built_and_recorded_under_each(several: Path, repository: Path) -> None:
    made = Parts.open(several)
    assert (made.names, made.kind) == (COMPILERS, COMPILER)
    for name, session in made.sessions().items():
        assert [one.label for one in session.manifest.kernels] == ["old", "new"]
        for one in session.manifest.kernels:
            assert one.source is not None
            assert one.spec == f"git:{repository}@{one.label},cc={name}"
            assert f" {name.partition('-')[2]}." in one.source.compiler
        assert all(run.failure is None for run in session.manifest.runs)
    shown = (several.parent / "stdout").read_text()
    assert "under gcc-12" in shown
    assert shown.splitlines()[-1] == f"profdiff report {several}"


@pytest.mark.guest
def test_the_report_of_what_is_the_same_under_both(several: Path) -> None:
    """The trees' kernels are the fixtures' whatever compiles, so each change is under both."""
    text = profdiff("report", several).stdout
    assert text.startswith("The same change: ")
    # Once, since both are built from the same.
    assert text.count("old: built from ") == 1
    assert text.count("built by gcc-12 ") == text.count("built by gcc-11 ") == 1
    assert "Under all compilers: " in text
    assert "under one compiler" not in text
    data = json.loads(profdiff("report", several, "--json", "-").stdout)
    rows = {row["name"]: row for row in data["functions"]["rows"]}
    batch = rows["prot_commit_flush_ptes"]
    assert batch["verdicts"]["new"] == {"extent": "all", "under": COMPILERS, "hardly": []}
    assert batch["parts"]["gcc-12"] == batch["parts"]["gcc-11"]


@pytest.mark.guest
def test_source_lines_stand_beside_each_other(several: Path, tmp_path: Path) -> None:
    several = Path(shutil.copytree(several, tmp_path / "s.profdiff"))
    for session in Parts.open(several).sessions().values():
        # The small trees are not what the fixture kernels were built from.
        kernels = [m.replace(one, source=None) for one in session.manifest.kernels]
        session.save(m.replace(session.manifest, kernels=kernels))
    words = ("annotate", several, "change_pte_range")
    by_line = profdiff(*words, "--by", "line", "--width", "120", "--absolute").stdout.splitlines()
    (groups,) = [line for line in by_line if " gcc-12 " in line]
    assert groups.index("gcc-12") < groups.index("gcc-11")
    data = json.loads(profdiff(*words, "--json", "-").stdout)
    schema = json.loads((ROOT / "profdiff/joint-annotation.schema.json").read_text())
    jsonschema.validate(data, schema)
    for name in COMPILERS:
        own = json.loads(profdiff("annotate", several / name, words[2], "--json", "-").stdout)
        assert data["parts"][name] == own
        for label in ("old", "new"):
            counted = [one["parts"][name] or {} for one in data["lines"]]
            assert sum(one.get(label, 0) for one in counted) == own["self"][label]
    # Both have the same code here, so every line is there for both.
    assert all(one["parts"]["gcc-12"] == one["parts"]["gcc-11"] for one in data["lines"])
    one_by_one = profdiff(*words).stdout
    assert one_by_one.index("under gcc-12:") < one_by_one.index("under gcc-11:")
    said = error_line(profdiff("annotate", several, "change_pte_rang", status=2))
    assert said.startswith("gcc-12: ")
    assert "change_pte_range" in said


@pytest.mark.guest
def test_it_resumes_where_it_was_interrupted(
    several: Path, repository: Path, tmp_path: Path
) -> None:
    copied = Path(shutil.copytree(several, tmp_path / "s.profdiff"))
    options = [*QUICK, *kernels(repository), "--ops", "20"]

    def to_do(*more: str) -> dict[str, int]:
        words = [*options, *more, "--", EXAMPLE, "4", "20"]
        lines = profdiff("plan", "-o", copied, *words).stdout.splitlines()
        own = [line for line in lines if line.startswith(f"{copied}/")]
        return {Path(line.partition(":")[0]).name: int(line.split()[-3]) for line in own}

    assert to_do(*BOTH) == {"gcc-12": 0, "gcc-11": 0}
    # Without --compilers the folder says which.
    assert to_do() == {"gcc-12": 0, "gcc-11": 0}
    assert to_do("--repeat", "2", "--compilers", "gcc-11") == {"gcc-11": 2}
    session = Session.open(copied / "gcc-11")
    session.save(m.replace(session.manifest, runs=session.manifest.runs[:1]))
    assert to_do(*BOTH) == {"gcc-12": 0, "gcc-11": 1}
    words = [*options, "--arch", "x86_64", "--", EXAMPLE, "4", "20"]
    line = error_line(profdiff("plan", "-o", copied, *words, status=2))
    assert "holds a session for each of several compilers: name another folder" in line


@pytest.mark.guest
def test_a_commit_that_does_not_build_is_a_hole_under_each(
    repository: Path, tmp_path: Path
) -> None:
    series = f"git:{repository}@old..new"
    words = [*QUICK, *BOTH, "--collector", "timed", "--series", series, "-o", tmp_path / "s"]
    lines = profdiff("plan", "--yes", *words, "--", EXAMPLE, "4", "20").stdout.splitlines()
    own = [line for line in lines if line.startswith(f"{tmp_path}/s/")]
    assert [line.partition(";")[0] for line in own] == [
        f"{tmp_path}/s/{name}: 3 kernels, 1 point, timed" for name in COMPILERS
    ]
    assert not is_session(tmp_path / "s")
