"""A real session for who asks it from Python; and made-up parts and a made-up suite beside it."""

from pathlib import Path

import numpy as np
import pytest
from synthetic_joint import joint
from synthetic_suite import session as exact_session
from tars import unpack_session

import profdiff
from profdiff.profile.function_identity import Function
from profdiff.profile.kept_functions import SelfCounts
from profdiff.session.suite import Suite, SuiteWorkload


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exact counts, samples and times of two kernels at two points."""
    folder = tmp_path_factory.mktemp("api") / "mprotect.profdiff"
    unpack_session(folder)
    return folder


@pytest.fixture(scope="session")
def session(folder: Path) -> profdiff.Session:
    """The same, opened."""
    found = profdiff.open(folder)
    assert isinstance(found, profdiff.Session)
    return found


@pytest.fixture(scope="session")
def parts(folder: Path) -> profdiff.Parts:
    """Two kernels at two points on two architectures."""
    found = profdiff.open(joint(folder.parent / "arches.profdiff").folder)
    assert isinstance(found, profdiff.Parts)
    return found


@pytest.fixture(scope="session")
def suite(folder: Path) -> profdiff.Suite:
    """``mprotect`` costs half more at one of two points, and the base lacks ``io-uring``."""
    names, labels = ("mprotect", "io-uring"), ["base", "new"]
    made = Suite.create(
        folder.parent / "calls.profdiff",
        "calls",
        ["profdiff", "record"],
        [SuiteWorkload(name=one, tags=["mm", "fast"], op="call") for one in names],
    )
    named = [Function("change_pte_range", "vmlinux", "mm/mprotect.c", True)]
    totals = {0: {"base": 4000, "new": 6000}, 1: {"base": 52000, "new": 52100}}
    found = {
        point: SelfCounts(named, labels, np.array([list(counts.values())]), None)
        for point, counts in totals.items()
    }
    exact_session(made.part("mprotect"), labels, totals, found, "size_kib")
    exact_session(made.part("io-uring"), labels, {0: {"new": 7000}}, {})
    opened = profdiff.open(made.folder)
    assert isinstance(opened, profdiff.Suite)
    return opened
