"""Small programs for the collectors' tests."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_program

from profdiff.collectors.guest.initramfs import guest_resources


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
