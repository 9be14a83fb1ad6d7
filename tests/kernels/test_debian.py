"""Kernels from Debian's archive: which one is chosen, and apt left alone."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, need_program, profdiff

from profdiff.base.errors import MissingError, ProfdiffError
from profdiff.collectors.architecture import ARM64, X86_64, Architecture
from profdiff.collectors.kernels import debian
from profdiff.collectors.kernels.apt import Apt, Package
from profdiff.collectors.kernels.debian import choose, releases, version_key

BIG = 10_000_000


def packages(*names: str) -> list[Package]:
    """Packages of those names; ``name:size`` gives a size."""
    split = [name.partition(":") for name in names]
    return [Package(name, "1", int(size or BIG)) for name, _, size in split]


ARCHIVE = packages(
    "linux-image-6.1.0-50-amd64",
    "linux-image-6.1.0-50-cloud-amd64",
    "linux-image-6.1.0-50-cloud-amd64-dbg",
    "linux-image-6.12.95+deb12-cloud-amd64",
    "linux-image-6.12.95+deb12-cloud-amd64-unsigned",
    "linux-image-6.12.95+deb12-cloud-amd64-dbg",
    "linux-image-6.17.13+deb13-cloud-amd64",
    "linux-binary-7.2.9+deb13-cloud-amd64",
    "linux-binary-7.2.12+deb13-cloud-amd64",
    "linux-image-7.2.12+deb13-cloud-amd64:1900",
    "linux-base-7.2.12+deb13-cloud-amd64",
    "linux-image-7.2.12+deb13-cloud-amd64-dbg",
    "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
    "linux-image-7.3.4+deb13-cloud-amd64-dbg",
    "linux-binary-7.4.0+deb13-cloud-amd64",
    "linux-image-7.2.12+deb13-rt-amd64",
)


def test_releases_are_in_order_and_of_their_flavour() -> None:
    assert releases(ARCHIVE, "cloud-amd64") == [
        "6.1.0-50-cloud-amd64",
        "6.12.95+deb12-cloud-amd64",
        "6.17.13+deb13-cloud-amd64",
        "7.2.9+deb13-cloud-amd64",
        "7.2.12+deb13-cloud-amd64",
        "7.3.4+deb13-cloud-amd64",
        "7.4.0+deb13-cloud-amd64",
    ]
    assert releases(ARCHIVE, "amd64") == ["6.1.0-50-amd64"]
    assert releases(ARCHIVE, "rt-amd64") == ["7.2.12+deb13-rt-amd64"]


@pytest.mark.parametrize(
    ("version", "image", "debug", "config"),
    [
        (None, "linux-binary-unsigned-7.3.4+deb13-cloud-amd64", True, False),
        ("7.2.12", "linux-binary-7.2.12+deb13-cloud-amd64", True, True),
        ("6.12.95", "linux-image-6.12.95+deb12-cloud-amd64", True, False),
        ("6.17.13", "linux-image-6.17.13+deb13-cloud-amd64", False, False),
        ("6.1.0-50-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64", True, False),
    ],
)
def test_the_newest_with_debug_symbols(
    version: str | None, image: str, debug: bool, config: bool
) -> None:
    kernel = choose(ARCHIVE, version, "cloud-amd64")
    assert kernel
    assert kernel.image.name == image
    assert (kernel.debug is not None, kernel.config is not None) == (debug, config)


@pytest.mark.parametrize("version", ["6.1.0-50", "6.1.176", "6.1.176-1", "6.1.0-50-cloud-amd64"])
def test_what_a_kernel_may_be_called(version: str) -> None:
    archive = [
        Package("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1", BIG),
        Package("linux-image-6.1.0-47-cloud-amd64", "6.1.170-3", BIG),
    ]
    kernel = choose(archive, version, "cloud-amd64")
    assert kernel
    assert kernel.release == "6.1.0-50-cloud-amd64"


def test_candidates_and_short_versions_are_older() -> None:
    names = ["7.4.1+deb14", "7.4~rc3", "7.4+deb14", "7.4~rc10", "7.10+deb14"]
    archive = packages(*(f"linux-image-{name}-cloud-amd64" for name in names))
    found = [name.removesuffix("-cloud-amd64") for name in releases(archive, "cloud-amd64")]
    assert found == ["7.4~rc3", "7.4~rc10", "7.4+deb14", "7.4.1+deb14", "7.10+deb14"]


@given(*[st.from_regex(r"\A[0-9][0-9a-z.+~]{0,9}\Z")] * 2)
def test_versions_compare_as_dpkg_does(left: str, right: str) -> None:
    command = [need_program("dpkg"), "--compare-versions", left, "lt", right]
    older = subprocess.run(command, check=False).returncode == 0
    assert (version_key(left) < version_key(right)) == older


def test_a_version_or_flavour_that_is_not_there() -> None:
    assert choose(ARCHIVE, "9.9", "cloud-amd64") is None
    assert choose(ARCHIVE, None, "arm64") is None


@pytest.mark.parametrize("spec", ["debian:", "debian:/amd64", "debian:../x", "debian:sid/a b"])
def test_a_spec_that_is_none(spec: str) -> None:
    assert "debian:SUITE" in error_line(profdiff("kernel", "fetch", spec, status=2))


@pytest.mark.parametrize(
    ("spec", "flavour", "architecture"),
    [
        ("debian:trixie", "cloud-amd64", X86_64),
        ("debian:trixie,arch=x86_64", "cloud-amd64", X86_64),
        ("debian:trixie,arch=arm64", "cloud-arm64", ARM64),
        ("debian:6.12.95,arch=arm64", "cloud-arm64", ARM64),
        ("debian:trixie/rt,arch=arm64", "rt-arm64", ARM64),
        ("debian:trixie/arm64,arch=arm64", "arm64", ARM64),
        # The flavour alone, as before there was arch=.
        ("debian:bookworm/cloud-arm64", "cloud-arm64", ARM64),
        ("debian:trixie/arm64-16k", "arm64-16k", ARM64),
        ("debian:sid/rt-amd64", "rt-amd64", X86_64),
    ],
)
def test_a_spec_says_the_architecture(spec: str, flavour: str, architecture: Architecture) -> None:
    assert debian.parse(spec)[1:] == (flavour, architecture)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("debian:sid/s390x", "no architecture that profdiff boots"),
        ("debian:sid/rt", "add ,arch=ARCH"),
        ("debian:sid,arch=s390x", "boots x86_64, arm64 and riscv64, not s390x"),
        ("debian:sid,arch=", "boots x86_64, arm64 and riscv64: give arch= one of them"),
        ("debian:sid/cloud-amd64,arch=arm64", "cloud-amd64 is for x86_64, not arm64"),
        ("debian:sid,arch=arm64,arch=arm64", "write debian:SUITE"),
        ("debian:sid,flavour=rt", "write debian:SUITE"),
    ],
)
def test_a_spec_of_no_architecture(spec: str, why: str) -> None:
    assert why in error_line(profdiff("kernel", "fetch", spec, status=2))


def test_a_kernel_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_program("dpkg-deb", "dpkg")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    downloads = []

    class Archive(Apt):
        """An archive without network: what it downloads is built by the real dpkg-deb."""

        def __init__(self, suites: tuple[str, ...], architecture: str) -> None: ...

        def packages(self, pattern: str) -> list[Package]:
            return packages("linux-image-6.17.13+deb13-cloud-amd64")

        def download(self, what: str, wanted: list[Package], folder: Path) -> list[Path]:
            downloads.append(folder)
            root = tmp_path / "root"
            (root / "DEBIAN").mkdir(parents=True)
            control = "Package: k\nVersion: 1\nArchitecture: amd64\nMaintainer: t <t@example.org>\n"
            (root / "DEBIAN/control").write_text(f"{control}Description: t\n")
            (root / "boot").mkdir()
            (root / "boot/vmlinuz-1").write_text("image")
            deb = folder / "k.deb"
            subprocess.run(["dpkg-deb", "-b", root, deb], check=True, capture_output=True)
            return [deb]

    monkeypatch.setattr(debian, "Apt", Archive)
    name = "debian-6.17.13+deb13-cloud-amd64-1"
    stale = tmp_path / f"cache/kernels/.{name}.profdiff-killed"
    stale.mkdir(parents=True)
    (stale / ".profdiff-lock").touch()
    folder = debian.fetch("debian:6.17.13")
    assert folder == tmp_path / "cache/kernels" / name
    assert (folder / "boot/vmlinuz-1").read_text() == "image"
    assert debian.fetch("debian:6.17.13") == folder
    assert len(downloads) == 1
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [name]


def test_without_apt(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "PROFDIFF_CACHE": str(tmp_path)}
    line = error_line(profdiff("kernel", "fetch", "debian:sid", env=env, status=2))
    assert "apt-get is not installed: Debian's packages need Debian" in line


def state() -> dict[str, str]:
    """Content and time of everything that apt keeps for the system."""
    found = {}
    for folder in ("/etc/apt", "/var/lib/apt/lists", "/var/cache/apt"):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path)] = f"{digest} {path.stat().st_mtime_ns}"
    return found


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    """Package lists of bookworm-backports, in a cache of its own."""
    need_program("apt-get", "apt")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    # The system's own hooks run for every apt that is not told otherwise.
    marker = tmp_path / "hook-ran"
    configuration = tmp_path / "apt.conf"
    hooks = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")
    configuration.write_text(
        "".join(f'APT::Update::{hook} {{"touch {marker}";}};\n' for hook in hooks)
    )
    monkeypatch.setenv("APT_CONFIG", str(configuration))
    try:
        return Apt(("bookworm-backports",))
    except ProfdiffError as error:
        pytest.skip(f"Debian's archive cannot be reached: {error}")


@pytest.mark.network
def test_a_real_download_leaves_the_systems_apt_alone(archive: Apt, tmp_path: Path) -> None:
    before = state()
    kernel = choose(debian.kernel_packages(archive, "amd64"), None, "cloud-amd64")
    assert kernel
    assert kernel.debug
    small = [p for p in archive.packages(r"seabios") if p.size < 1_000_000]
    (file,) = archive.download("seabios", small, tmp_path)
    assert file.stat().st_size == small[0].size
    assert state() == before
    assert not (tmp_path / "hook-ran").exists()


@pytest.mark.network
def test_processes_that_read_the_same_lists(archive: Apt) -> None:
    program = "from profdiff.collectors.kernels.apt import Apt; Apt(('bookworm-backports',))"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stderr=pipe, text=True) for _ in range(3)]
    results = [(process.communicate(timeout=120)[1], process.returncode) for process in processes]
    assert all(status == 0 for _, status in results), results


@pytest.mark.network
def test_a_download_that_fails_is_one_line(
    archive: Apt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(ProfdiffError, match=r"the download failed .*: try again"):
        archive.download("x", archive.packages("seabios"), tmp_path)
    assert not list(tmp_path.glob("*.deb"))


@pytest.mark.network
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("debian:nosuchsuite", "Debian's archive has no suite nosuchsuite"),
        ("debian:bookwrom", "no suite bookwrom: did you mean bookworm?"),
        ("debian:1.2.3", "no such kernel"),
    ],
)
def test_what_the_archive_does_not_have(archive: Apt, spec: str, said: str) -> None:
    assert said in error_line(profdiff("kernel", "fetch", spec, status=2))


@pytest.mark.network
def test_without_a_network_the_lists_of_before_are_used(
    archive: Apt, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a recording of a kernel that is in the cache can be resumed."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    again = Apt(("bookworm-backports",))
    assert choose(debian.kernel_packages(again, "amd64"), None, "cloud-amd64")
    assert "lists that were fetched before" in capsys.readouterr().err
    with pytest.raises(MissingError, match="cannot read Debian's package lists"):
        Apt(("trixie-backports",))
