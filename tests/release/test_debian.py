"""The Debian packages, each in a new root of its Debian: what debian/tests says, as autopkgtest(1)
runs it."""

from pathlib import Path

import pytest
from release.roots import debian, run, within
from support import ROOT, need_program

pytestmark = [pytest.mark.nightly, pytest.mark.network, pytest.mark.guest]

INSTALL = """
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2
apt-get install --quiet=2 --no-install-recommends --yes /work/{package} {depends} > /dev/null
"""


@pytest.mark.parametrize(("number", "suite"), [("12", "bookworm"), ("13", "trixie")])
def test_it_installs_and_records(released: Path, tmp_path: Path, number: str, suite: str) -> None:
    (package,) = released.glob(f"profdiff_*~deb{number}_amd64.deb")
    control = (ROOT / "debian/tests/control").read_text()
    tests, depends, _ = (line.split(": ")[1] for line in control.splitlines())
    with debian(tmp_path, suite, "--variant=apt") as root:
        (root / "work/tests").mkdir(parents=True)
        (root / "work" / package.name).write_bytes(package.read_bytes())
        script = root / "work/tests" / tests
        script.write_bytes((ROOT / "debian/tests" / tests).read_bytes())
        script.chmod(0o755)
        wanted = " ".join(one for one in depends.split(", ") if one != "@")
        within(root, INSTALL.format(package=package.name, depends=wanted))
        said = within(root, f"AUTOPKGTEST_TMP=/work tests/{tests}")
        assert "generic" in said and "passes: instructions:total" in said
        # Byte code is there, so that no user compiles it anew each time; and it goes.
        compiled = "/usr/lib/profdiff/lib/python3*/site-packages/profdiff/__pycache__"
        assert "cli." in within(root, f"ls {compiled}")
        within(root, "apt-get purge --quiet=2 --yes profdiff > /dev/null")
        assert not (root / "usr/lib/profdiff").exists()


def test_lintian_finds_no_error(released: Path) -> None:
    """In one of them: they differ only in the version of Python."""
    need_program("lintian")
    (package,) = released.glob("profdiff_*~deb13_amd64.deb")
    run("lintian", "--fail-on", "error", package)
