"""apt with a state of its own, on a signed archive that is made for the test."""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import ARM64
from profdiff.collectors.kernels import apt
from profdiff.collectors.kernels.apt import Apt

pytestmark = [pytest.mark.network, pytest.mark.network]

# What the system's configuration may allow.
LAX = (
    'Acquire::Check-Valid-Until "false";\nAcquire::Check-Date "false";\n'
    'Acquire::Min-ValidTime "999999999";\nAcquire::Min-ValidTime::Test "999999999";\n'
)


class Archive:
    """Packages of one suite for one architecture, signed with a key of its own."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self._home = folder, home
        self._index = b""
        key = ["--quick-generate-key", "t <t@example.org>", "ed25519", "sign", "never"]
        self._gpg("--passphrase", "", *key)
        folder.mkdir()
        (folder / "key.gpg").write_bytes(self._gpg("--export"))

    def _gpg(self, *arguments: str, data: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", str(self._home), "--batch", "--quiet", *arguments]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    def add(self, name: str, files: dict[str, str], architecture: str) -> None:
        """A package with those files."""
        root = self.folder / f"root-{name}"
        control = f"Package: {name}\nVersion: 1\nArchitecture: {architecture}\n"
        control += "Maintainer: t <t@example.org>\nDescription: t\n"
        for path, text in {"DEBIAN/control": control, **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        deb = self.folder / f"{name}_1_{architecture}.deb"
        subprocess.run(["dpkg-deb", "-b", root, deb], check=True, capture_output=True)
        data = deb.read_bytes()
        facts = f"Filename: {deb.name}\nSize: {len(data)}\n"
        facts += f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
        self._index += f"{control}{facts}\n".encode()

    def release(self, suite: str, architecture: str, made: timedelta, until: timedelta) -> None:
        """Sign what there is, as of ``made`` from now, valid ``until`` then."""

        def date(offset: timedelta) -> str:
            return (datetime.now(UTC) + offset).strftime("%a, %d %b %Y %H:%M:%S UTC")

        path = f"main/binary-{architecture}/Packages"
        place = self.folder / "dists" / suite
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(self._index)
        digest = hashlib.sha256(self._index).hexdigest()
        text = (
            f"Origin: Test\nLabel: Test\nSuite: {suite}\nCodename: {suite}\n"
            f"Date: {date(made)}\nValid-Until: {date(until)}\n"
            f"Architectures: {architecture}\nComponents: main\n"
            f"SHA256:\n {digest} {len(self._index)} {path}\n"
        )
        (place / "InRelease").write_bytes(self._gpg("--clearsign", data=text.encode()))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    """An archive that stands for Debian's, on a system that checks no dates."""
    need_program("apt-get", "apt")
    need_program("gpg", "gpg gpg-agent")
    need_program("dpkg-deb", "dpkg")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "apt.conf").write_text(LAX)
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    # The agent's socket has a short name only here.
    with tempfile.TemporaryDirectory() as home:
        made = Archive(tmp_path / "archive", Path(home))
        monkeypatch.setattr(apt, "MIRROR", f"file:{made.folder}")
        monkeypatch.setattr(apt, "KEYRING", str(made.folder / "key.gpg"))
        yield made
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)


DAY = timedelta(days=1)


@pytest.mark.network
@pytest.mark.parametrize(
    ("made", "until", "told"),
    [(-DAY, DAY, None), (-9 * DAY, -DAY, "is expired"), (DAY, 9 * DAY, "is not valid yet")],
)
def test_the_dates_of_lists_are_checked(
    archive: Archive, made: timedelta, until: timedelta, told: str | None
) -> None:
    """Else whoever stands between could give out a list of long ago, with what it had of holes."""
    archive.add("k", {"x": "x"}, "amd64")
    archive.release("some", "amd64", made, until)
    if told is None:
        assert [package.name for package in Apt(("some",)).packages("k")] == ["k"]
        return
    with pytest.raises(MissingError, match=told):
        Apt(("some",))


# Unpacks arm64's programs from the archive whose folder and state are given.
UNPACK = """
import sys
from profdiff.collectors.kernels import apt
from profdiff.collectors.guest import initramfs
from profdiff.collectors.architecture import ARM64
apt.MIRROR, apt.KEYRING = f"file:{sys.argv[1]}", f"{sys.argv[1]}/key.gpg"
print(initramfs.foreign_busybox(ARM64).read_text())
"""


@pytest.mark.network
def test_processes_that_want_the_same_programs(archive: Archive, tmp_path: Path) -> None:
    """None removes what another unpacks, and what a killed one left does not confuse them."""
    archive.add("busybox-static", {"usr/bin/busybox": "busybox"}, "arm64")
    archive.release(ARM64.suite, "arm64", -DAY, DAY)
    for name in ("packages", ".bookworm-arm64-busybox.profdiff-killed"):
        (tmp_path / "cache/userland" / name).mkdir(parents=True)
        (tmp_path / "cache/userland" / name / "old_1_arm64.deb").write_text("cut sho")
        (tmp_path / "cache/userland" / name / ".profdiff-lock").touch()
    command = [sys.executable, "-c", UNPACK, archive.folder]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    results = [(process.communicate(timeout=120), process.returncode) for process in processes]
    assert all(status == 0 and out == "busybox\n" for (out, _), status in results), results
    folders = [path.name for path in (tmp_path / "cache/userland").iterdir() if path.is_dir()]
    assert sorted(folders) == ["bookworm-arm64-busybox", "packages"]
