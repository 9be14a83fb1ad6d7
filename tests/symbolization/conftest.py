"""Fixture kernels, unpacked once for a test session."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_kernel, need_program

# The oracles beside the tests; `pythonpath` in pyproject.toml only names tests/.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def fixture_vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The unpacked vmlinux of a fixture kernel, by the kernel's name."""
    folder = tmp_path_factory.mktemp("fixture-kernels")

    def unpacked(name: str) -> Path:
        packed = need_kernel(name) / "vmlinux.zst"
        need_program("zstd")
        target = folder / name
        if not target.exists():
            subprocess.run(
                ["zstd", "-q", "-d", "--long=27", str(packed), "-o", str(target)], check=True
            )
        return target

    return unpacked
