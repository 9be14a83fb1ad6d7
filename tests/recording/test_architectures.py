"""record --arch: one experiment on x86-64 and arm64, each a session of its own."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import whole_run
from support import EXAMPLE, RESTORED, error_line, need_kernel, need_program, profdiff

from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.session import manifest as m
from profdiff.session.held import is_session
from profdiff.session.parts import Parts
from profdiff.session.session import Session

QUICK = ["--collector", "timed", *RESTORED, "--timeout", "300"]
ARCH = ["--arch", "x86_64,arm64"]
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-system-aarch64": "qemu-system-arm",
    "cc": "gcc",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "busybox": "busybox-static",
}


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    for name, package in PROGRAMS.items():
        need_program(name, package)


@pytest.fixture
def kernels(tmp_path: Path) -> list[str]:
    """A fixture kernel twice, and what only begins as one of arm64 does: enough to plan with."""
    image = tmp_path / "Image"
    image.write_bytes(bytes(56) + b"ARMd" + bytes(4096))
    x86 = need_kernel("v6.12.107")
    return named({"a": [x86, image], "b": [x86, image]})


def named(kernels: dict[str, Sequence[str | Path]]) -> list[str]:
    return [f"--kernel={label}={spec}" for label, specs in kernels.items() for spec in specs]


def planned(*arguments: str | Path, cwd: Path | None = None) -> list[str]:
    return profdiff("plan", *arguments, cwd=cwd).stdout.splitlines()


def parts(lines: Sequence[str], folder: Path | str) -> list[str]:
    """What plan says of each part, without the folder."""
    return [line.removeprefix(f"{folder}/") for line in lines if line.startswith(f"{folder}/")]


@pytest.mark.kernel
def test_each_architecture_is_planned_alike(kernels: list[str], tmp_path: Path) -> None:
    more = ["--sweep", "kib=4,400", "--cpus", "1,2", "--aa", "1", "-o", tmp_path / "s"]
    lines = planned(*QUICK, *ARCH, *kernels, *more, "--", EXAMPLE, "{kib}", "20")
    assert parts(lines, tmp_path / "s") == [
        f"{name}: 3 kernels, 4 points, timed; 0 runs done, 0 failed, 12 to do"
        for name in ("x86_64", "arm64")
    ]
    runs = [line[4:] for line in lines if line[:4].strip().isdigit()]
    assert len(runs) == 24
    assert runs[:12] == runs[12:]
    assert lines[-1].startswith(f"{tmp_path / 's'}: ")
    assert lines[-1].endswith(" in all")
    assert not (tmp_path / "s").exists()


@pytest.mark.kernel
@pytest.mark.parametrize("value", ['"arm64,x86_64"', '["arm64", "x86_64"]', '["aarch64", "amd64"]'])
def test_an_experiment_file_names_them(kernels: list[str], tmp_path: Path, value: str) -> None:
    every = json.dumps([kernel.removeprefix("--kernel=") for kernel in kernels])
    (tmp_path / "profdiff.toml").write_text(
        f'arch = {value}\nkernel = {every}\ncollector = "timed"\noutput = "s"\n'
        f'command = ["{EXAMPLE}", "4", "20"]\n'
    )
    found = [line.partition(":")[0] for line in parts(planned(cwd=tmp_path), "s")]
    assert found == ["arm64", "x86_64"]
    # One of them, as an ordinary session.
    lines = planned("--arch", "arm64", cwd=tmp_path)
    assert lines[0].startswith("s: 2 kernels, 1 point")
    assert not parts(lines, "s")


@pytest.mark.kernel
def test_what_a_user_can_get_wrong(kernels: list[str], tmp_path: Path) -> None:
    workload = ["-o", tmp_path / "s", "--", EXAMPLE, "4", "20"]
    for arguments, said in [
        (["--arch", "mips", *kernels], "'mips' is not an architecture (x86_64, arm64, riscv64)"),
        (["--arch", "x86_64,", *kernels], "'' is not an architecture"),
        ([*ARCH, *kernels[:3]], "b has no kernel for arm64: add --kernel b=SPEC"),
        ([*ARCH, "--kernel", "running"], "running is a machine"),
        ([*ARCH, "--kernel", "ssh://nowhere"], "nowhere is a machine"),
        (kernels[1:3], "a is for arm64, b is for x86_64): to record each, add --arch arm64,x86_64"),
        (kernels, "a is given twice (with --arch, once for each architecture)"),
        ([*ARCH, *kernels, "--qemu", "/bin/q"], "of one architecture: write --qemu x86_64=/bin/q"),
    ]:
        line = error_line(profdiff("record", *QUICK, *arguments, *workload, status=2))
        assert said in line, line
        assert not (tmp_path / "s").exists()


@pytest.mark.kernel
@pytest.mark.parametrize("missing", ["qemu-system-aarch64", "aarch64-linux-gnu-gcc"])
def test_what_the_last_architecture_lacks_is_said_before_the_first_is_recorded(
    kernels: list[str], tmp_path: Path, missing: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for entry in Path(place).iterdir() if Path(place).is_dir() else []:
            if entry.name != missing:
                (programs / entry.name).unlink(missing_ok=True)
                (programs / entry.name).symlink_to(entry)
    command = ["record", *QUICK, *ARCH, *kernels, "-o", tmp_path / "s", "--", EXAMPLE, "4", "20"]
    line = error_line(profdiff(*command, env={"PATH": str(programs)}, status=2))
    assert line == f"{missing} is not installed: apt-get install {PROGRAMS[missing]}"
    assert not (tmp_path / "s").exists()


@pytest.mark.kernel
def test_a_session_of_one_architecture_is_in_the_way(kernels: list[str], tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    command = ["plan", *QUICK, *ARCH, *kernels, "-o", tmp_path, "--", EXAMPLE, "4", "20"]
    line = error_line(profdiff(*command, status=2))
    assert line.startswith(f"{tmp_path} holds a recording of one architecture: name another")


# What is recorded once: two boots of each architecture.


@pytest.fixture(scope="module")
def arguments() -> list[str | Path]:
    """Two kernels for each architecture, and a workload."""
    need_program("apt-get", "apt")
    # Looked up once: each look-up reads Debian's lists.
    found = [
        parse(f"debian:{suite}/cloud-arm64").locate(suite)
        for suite in ("bookworm", "bookworm-backports")
    ]
    old, new = (f"{kernel.image},vmlinux={kernel.debug_elf}" for kernel in found)
    kernels: dict[str, Sequence[str | Path]] = {
        "old": [need_kernel("v6.12.107"), old],
        "new": [need_kernel("v6.18.15"), new],
    }
    quick = QUICK[2:]
    rest = ["--ops", "20", "--no-call-tree", "--", EXAMPLE, "4", "20"]
    return [*quick, *ARCH, *named(kernels), *rest]


@pytest.fixture(scope="module")
def several(arguments: list[str | Path]) -> Path:
    def make(folder: Path) -> None:
        result = profdiff("record", "-o", folder / "s.profdiff", *arguments)
        (folder / "stdout").write_text(result.stdout)
        (folder / "stderr").write_text(result.stderr)

    return whole_run.once("several-architectures", make) / "s.profdiff"


@pytest.fixture
def copied(several: Path, tmp_path: Path) -> Path:
    """The recording, to change."""
    return Path(shutil.copytree(several, tmp_path / "s.profdiff"))


@pytest.mark.guest
@pytest.mark.network
def test_each_part_is_an_ordinary_session(several: Path) -> None:
    made = Parts.open(several)
    assert made.names == ["x86_64", "arm64"]
    sessions = made.sessions()
    assert list(sessions) == made.names
    machines = {"x86_64": "x86_64", "arm64": "aarch64"}
    for name, session in sessions.items():
        manifest = session.manifest
        assert [kernel.label for kernel in manifest.kernels] == ["old", "new"]
        assert sorted(run.kernel for run in manifest.runs) == ["new", "old"]
        for run in manifest.runs:
            assert run.failure is None
            assert run.qemu
            assert run.qemu.architecture == machines[name]
        releases = [str(kernel.release) for kernel in manifest.kernels]
        assert all(release.endswith("cloud-arm64") for release in releases) == (name == "arm64")
        shown = profdiff("report", several / name).stdout
        assert shown.startswith("new executes ")
    contents = [session.manifest.workload for session in sessions.values()]
    assert contents[0].argv == contents[1].argv
    # It was compiled for each.
    assert contents[0].files[0].sha256 != contents[1].files[0].sha256


@pytest.mark.guest
@pytest.mark.network
def test_both_are_told_side_by_side_at_the_end(several: Path) -> None:
    shown = (several.parent / "stdout").read_text()
    (heading,) = [line for line in shown.splitlines() if "---" in line]
    assert [word for word in heading.split() if word.isidentifier()] == ["x86_64", "arm64"]
    assert shown.splitlines()[-1] == f"profdiff report {several}"
    told = (several.parent / "stderr").read_text().splitlines()
    assert [line for line in told if line.startswith("recording")] == [
        f"recording {several}/x86_64",
        f"recording {several}/arm64",
    ]
    for name, session in Parts.open(several).sessions().items():
        by_label = {run.kernel: run.measured[0].values[0] for run in session.manifest.runs}
        change = f"{by_label['new'] / by_label['old'] - 1:+.1%}"
        assert f"{change} on {name}" in " ".join(shown.split())


@pytest.mark.guest
@pytest.mark.network
def test_the_same_command_again_has_nothing_to_do(
    several: Path, arguments: list[str | Path]
) -> None:
    lines = planned("-o", several, *arguments)
    assert [line.endswith("2 runs done, 0 failed, 0 to do") for line in parts(lines, several)] == [
        True,
        True,
    ]
    assert lines[-1] == f"{several}: nothing to do"
    # Without COMMAND the parts know it, and without --arch which they are.
    only = arguments[: arguments.index("--")]
    without = [word for word in only if word not in ARCH]
    for words in (only, without):
        assert parts(planned("-o", several, *words), several) == parts(lines, several)
    before = [path.stat().st_mtime_ns for path in sorted(several.rglob("runs/*"))]
    profdiff("record", "-o", several, *arguments)
    assert before == [path.stat().st_mtime_ns for path in sorted(several.rglob("runs/*"))]


@pytest.mark.guest
@pytest.mark.network
def test_what_is_missing_is_made_up_for(copied: Path, arguments: list[str | Path]) -> None:
    options = arguments[: arguments.index("--")]

    def to_do(*more: str) -> dict[str, int]:
        of_all = [word for word in options if "--arch" not in more or word not in ARCH]
        words = [*of_all, *more, *arguments[len(options) :]]
        lines = parts(planned("-o", copied, *words), copied)
        return {line.partition(":")[0]: int(line.split()[-3]) for line in lines}

    assert to_do("--repeat", "3") == {"x86_64": 4, "arm64": 4}
    assert to_do("--repeat", "3", "--arch", "arm64") == {"arm64": 4}
    assert to_do("--arch", "arm64,x86_64") == {"x86_64": 0, "arm64": 0}
    # Interrupted in the second part, after its first run.
    session = Session.open(copied / "arm64")
    session.save(m.replace(session.manifest, runs=session.manifest.runs[:1]))
    assert to_do() == {"x86_64": 0, "arm64": 1}
    # Interrupted before it.
    shutil.rmtree(copied / "arm64")
    assert to_do() == {"x86_64": 0, "arm64": 2}
    shown = profdiff("report", copied).stdout
    assert "x86_64" in shown


@pytest.mark.guest
@pytest.mark.network
def test_parts_that_say_different_commands(copied: Path, arguments: list[str | Path]) -> None:
    session = Session.open(copied / "arm64")
    other = m.replace(session.manifest.workload, argv=["/bin/true"])
    session.save(m.replace(session.manifest, workload=other))
    only = arguments[: arguments.index("--")]
    line = error_line(profdiff("record", "-o", copied, *only, status=2))
    assert line.startswith(f"the parts of {copied} have different commands")


@pytest.mark.guest
@pytest.mark.network
def test_a_strangers_command_does_not_run_unseen(
    copied: Path, arguments: list[str | Path], tmp_path: Path
) -> None:
    """The copy lies where this user did not record it."""
    only = arguments[: arguments.index("--")]
    env = {"PROFDIFF_STATE": str(tmp_path / "state")}
    result = profdiff("record", "-o", copied, *only, env=env, status=2)
    assert f"you did not record {copied} on this machine" in error_line(result)
    assert f"its command is {EXAMPLE} 4 20" in result.stderr


@pytest.mark.guest
@pytest.mark.network
@pytest.mark.parametrize(
    "command",
    [["blame", "SESSION", "--repo", "."], ["blame", "SESSION"]],
)
def test_commands_of_one_kernels_code_name_the_parts(several: Path, command: list[str]) -> None:
    words = [str(several) if word == "SESSION" else word for word in command]
    line = error_line(profdiff(*words, status=2))
    assert line.endswith(f"name one of them: {several}/x86_64 or {several}/arm64")


@pytest.mark.guest
@pytest.mark.network
def test_a_kernel_without_result_does_not_keep_the_other_architecture(
    arguments: list[str | Path], tmp_path: Path
) -> None:
    script = tmp_path / "work.sh"
    script.write_text("#!/bin/sh\n[ $(uname -m) = aarch64 ]\n")
    script.chmod(0o755)
    kernels = arguments[: arguments.index("--ops")]
    words = ["-o", tmp_path / "s", "--collector", "timed", *kernels, "--", script]
    result = profdiff("record", *words, status=2)
    line = error_line(result)
    assert line.startswith("x86_64: old has no result: ")
    assert "arm64" not in line
    assert is_session(tmp_path / "s/arm64")
    assert Session.open(tmp_path / "s/arm64").finished("new", "timed")
    assert not Session.open(tmp_path / "s/x86_64").finished("new", "timed")
    assert f"profdiff report {tmp_path}/s" in result.stdout
