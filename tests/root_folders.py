"""What tests of root folders (``--sysroot``) share; the fixtures are in tests/collectors."""

from collections.abc import Callable
from pathlib import Path

from support import need_program

from profdiff.collectors.architecture import Architecture
from profdiff.collectors.workload.workload import PreparedWorkload

# The loader of programs that a test builds for a root folder.
INTERPRETER = "/lib/ld-own.so.1"
Ready = Callable[..., PreparedWorkload]
Build = Callable[..., Path]


def compiler(architecture: Architecture) -> str:
    packages = {"cc": "gcc", **architecture.packages}
    return need_program(architecture.compiler, packages[architecture.compiler])


def places(workload: PreparedWorkload) -> dict[str, Path]:
    return {file.guest_path: file.source for file in workload.files}
