"""QEMUs of other versions, unpacked beside the installed one and kept in the cache."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.apt import Apt

QEMU_10 = "bookworm-backports"
"""QEMU 10.0, which takes Debian 12's libraries."""
QEMU_11 = "trixie-backports"
"""QEMU 11, which takes Debian 13's libraries: they are unpacked too."""
NIGHTLY = pytest.mark.nightly
"""For tests that compare versions, most of those on QEMU 11, and guests that boot although restored
ones show the same: each way to talk to a plugin has usual tests, on the installed QEMU, on QEMU 10
and, in test_shared_code.py, on QEMU 11."""

_PACKAGES = r"qemu-system-(x86|arm|data)|seabios"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"


@cache
def another_qemu(suite: str, architecture: Architecture) -> Qemu:
    """The QEMU of one of Debian's suites for guests of an architecture, or skip with a reason that
    names it."""
    try:
        root = _unpacked(suite, suite)
        program = root / "usr/bin" / architecture.emulator
        if suite == QEMU_11:
            program = _with_libraries(program, _unpacked("trixie", "trixie-libraries"))
    except ProfdiffError as error:
        pytest.skip(f"QEMU from {suite} cannot be fetched: {error}")
    told = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
    if told.returncode:
        pytest.skip(f"QEMU from {suite} does not run here: {told.stderr.strip()}")
    return Exact().emulator(architecture, program)


def _unpacked(suite: str, name: str) -> Path:
    """The folder of this name with QEMU from a suite, or with the libraries that it needs there.
    Raises ProfdiffError."""
    folder = cache_folder("qemus") / name
    if folder.is_dir():
        return folder
    apt = Apt((suite,))
    if name == suite:
        packages = apt.packages(_PACKAGES)
    else:
        needed = apt.closure(["qemu-system-x86", "qemu-system-arm"])
        packages = [one for one in needed if re.match("lib|zlib", one.name)]
    return apt.unpack(f"QEMU from {suite}", packages, folder, ["./usr/*"])


def _with_libraries(program: Path, root: Path) -> Path:
    """A program that starts ``program`` with the libraries below ``root``, its C library too."""
    libraries = root / _LIBRARIES
    # Where the firmware is found from.
    wrapper = program.parent.parent / "with-libraries" / program.name
    wrapper.parent.mkdir(exist_ok=True)
    loader = libraries / "ld-linux-x86-64.so.2"
    wrapper.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {program} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper
