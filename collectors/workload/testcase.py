"""A test in will-it-scale's shape: a source with a ``testcase()``, whose loop never ends, and no
``main()``. It gets one of ours, beside profdiff.h, which runs copies of it."""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.workload.elf import defined_functions

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

MAIN = "testcase.c"
_MODES = ("processes", "threads")
# A test that allocates and frees means to.
_OPTIONS = ("-fno-builtin-malloc",)
# Each basic block of the test calls a function of MAIN's. First clang's: it leaves out blocks that
# others lead to, and puts what begins an operation behind the end of the one before, unless it is
# told not to.
_COVERAGE = (
    ("-fsanitize-coverage=trace-pc,no-prune", "-mllvm", "-rotation-max-header-size=0"),
    ("-fsanitize-coverage=trace-pc",),
)


def test_object(source: str, run: Run, compiler: Sequence[str], folder: Path) -> Path | None:
    """The test ``source``, compiled in ``folder`` with calls that see where its operations end;
    None if it is not one. ``compiler``: its command, with options."""
    made = folder / "test.o"
    rule = ["-MD", "-MF", str(folder / "test.rule")]
    for coverage in _COVERAGE:
        command = [*compiler, *_OPTIONS, *coverage, *rule, "-c", "-o", str(made), source]
        if run(command).returncode == 0:
            defined = defined_functions(made)
            return made if "testcase" in defined and "main" not in defined else None
    return None


def main_object(source: Path, run: Run, compiler: Sequence[str], folder: Path) -> Path:
    """``MAIN``, compiled in ``folder``. Raises InputError."""
    made = folder / "main.o"
    command = [*compiler, f"-ffile-prefix-map={source.parent}=profdiff"]
    command += ["-MD", "-MF", str(folder / "main.rule"), "-c", "-o", str(made), str(source)]
    result = run(command)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"cannot compile {source}, which runs tests: {reason}")
    return made


def test_arguments(source: Path, words: Sequence[str], copies: int) -> tuple[str, ...]:
    """What ``MAIN`` is given for a test that has ``words`` behind it. Raises InputError."""
    mode = words[0] if words else _MODES[0]
    if len(words) > 1 or not (mode in _MODES or re.search(r"\{\w+\}", mode)):
        raise InputError(
            f"{source} is a test in will-it-scale's shape: it takes no argument but processes or "
            f"threads, not {' '.join(words)}; --copies and --ops say how many"
        )
    return mode, str(copies), "{ops}"
