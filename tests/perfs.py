"""Other perfs than the installed one, as benches/perf_inlines.py fetches them."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT, need_program

from profdiff.base.errors import ProfdiffError


def bench() -> ModuleType:
    """benches/perf_inlines.py."""
    spec = importlib.util.spec_from_file_location("inlines", ROOT / "benches/perf_inlines.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["inlines"] = module
    spec.loader.exec_module(module)
    return module


def perf_of(suite: str) -> Path:
    """The perf of a suite of Debian, or the installed one for "", or skip with a reason that names
    it."""
    try:
        program = bench().from_debian(suite) if suite else need_program("perf", "linux-perf")
    except ProfdiffError as error:
        pytest.skip(f"perf from {suite} cannot be fetched: {error}")
    started = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if started.returncode:
        pytest.skip(f"perf from {suite} does not start here: {started.stderr.strip()}")
    return Path(program)
