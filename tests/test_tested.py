"""What users install is what is tested: scripts/test tests the wheel, not the checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import IMPORTED, ROOT

PRINT = "import profdiff.collectors as one; print(one.__file__)"
TESTED = os.environ.get("PROFDIFF_TESTED", "")
wheel_only = pytest.mark.skipif(not TESTED, reason="only scripts/test tests the wheel")


@wheel_only
def test_what_is_imported_is_installed() -> None:
    assert IMPORTED.is_relative_to(TESTED)
    assert IMPORTED.name == "site-packages"
    assert ROOT not in map(Path, sys.path)
    own = [module for name, module in sys.modules.items() if name.split(".")[0] == "profdiff"]
    assert len(own) > 50
    files = {Path(file) for module in own if (file := getattr(module, "__file__", None))}
    assert {file for file in files if not file.is_relative_to(IMPORTED)} == set()


@wheel_only
@pytest.mark.parametrize("words", [["-c", PRINT], ["-m", "profdiff", "header"]], ids=["c", "m"])
def test_processes_in_the_checkout_import_it_too(words: list[str]) -> None:
    command = [sys.executable, *words]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert Path(printed.strip()).is_relative_to(IMPORTED)


@wheel_only
def test_the_program_is_the_installed_one() -> None:
    program = shutil.which("profdiff")
    assert program and Path(program).is_relative_to(TESTED)
    assert shutil.which("python") == sys.executable


def test_no_test_sends_a_process_to_the_checkout() -> None:
    """``support.IMPORTED`` is where the tested modules are."""
    sent = re.compile(r"""PYTHONPATH["']?\s*[:=,]\s*(?:str\()?\{?ROOT\b(?! / "tests")""")
    assert sent.search('env={"PYTHONPATH": str(ROOT)}')
    assert sent.search("f'PYTHONPATH={ROOT} exec'")
    for file in (ROOT / "tests").rglob("*.py"):
        if file != Path(__file__):
            assert not sent.search(file.read_text()), file
