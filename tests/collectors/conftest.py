"""Small programs for the collectors' tests."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from root_folders import INTERPRETER, Build, Ready, compiler
from support import need_program

from profdiff.collectors.architecture import Architecture, host
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.workload.workload import PreparedWorkload, prepare


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[..., Path]:
    """Compiles a C program: ``compile_c(name, source, *flags, compiler="cc")``."""
    need_program("cc", "gcc")

    def build(name: str, source: str, *flags: str, compiler: str = "cc") -> Path:
        file = tmp_path / f"{name}.c"
        file.write_text(source)
        program = tmp_path / name
        command = [compiler, "-O1", "-g", f"-I{guest_resources()}", "-o", program, file, *flags]
        subprocess.run(command, check=True)
        return program

    return build


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Makes a program or a library without libc at a path: ``build(path, *flags)``."""
    empty = tmp_path / "empty.c"
    empty.write_text("void _start(void) {}\n")

    def run(path: Path, *flags: str | Path, architecture: Architecture = host()) -> Path:  # noqa: B008
        path.parent.mkdir(parents=True, exist_ok=True)
        usual = ["-nostdlib", "-fPIC", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"]
        if "-shared" not in flags:
            usual += [f"-Wl,--dynamic-linker={INTERPRETER}", "-pie"]
        command = [compiler(architecture), empty, *usual, *flags, "-o", path]
        subprocess.run(command, check=True)
        return path

    return run


@pytest.fixture
def ready(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """Prepares a command with that root folder, in a folder of its own:
    ``ready(word, ..., sysroots=[...])``."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def run(
        *argv: str | Path,
        extra: tuple[str, ...] = (),
        sysroots: tuple[str, ...] | None = None,
        architecture: Architecture = host(),  # noqa: B008
    ) -> PreparedWorkload:
        words = [str(word) for word in argv]
        values = (str(root),) if sysroots is None else sysroots
        resources = guest_resources()
        return prepare(words, extra, tmp_path / "build", resources, architecture, values)

    return run
