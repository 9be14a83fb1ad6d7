"""The config that kernels are built with: asked for, lost, refused."""

import re
from pathlib import Path

import pytest
import small_linux
from built_kernels import built
from hypothesis import given
from hypothesis import strategies as st
from made_repository import Made, MadeRepository, make
from support import need_kernel, need_program

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, ARM64, X86_64, Architecture
from profdiff.collectors.kernels.build import build, is_known_built
from profdiff.collectors.kernels.building import config
from profdiff.collectors.kernels.building.config import merged, options, requested
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import kept_kernels
from profdiff.collectors.kernels.git_spec import GitSpec

NEEDED = "".join(f"{name}=y\n" for name in config._NEEDED)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    need_program("make")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """One that lacks two options that guests do not need, and one that lacks one that they do."""
    lacks = small_linux.tree(absent=("CONFIG_KPROBES", "CONFIG_UPROBES"))
    useless = small_linux.tree(absent=("CONFIG_PROC_FS", "CONFIG_RD_GZIP"))
    return make(tmp_path / "linux", {"base": Made(lacks), "useless": Made(useless)})


def config_of(repo: MadeRepository, rest: str) -> dict[str, str]:
    """The options of a kernel that was built."""
    kernel = built(repo, rest)
    assert kernel.config
    return options(kernel.config.read_text())


@pytest.mark.build
def test_the_default_is_tinyconfig_and_what_a_guest_needs(repo: MadeRepository) -> None:
    found = config_of(repo, "@base")
    assert found["CONFIG_TINY"] == found["CONFIG_DEBUG_INFO_DWARF5"] == found["CONFIG_64BIT"] == "y"
    assert found["CONFIG_LARGE"] == found["CONFIG_VT"] == found["CONFIG_LOCALVERSION_AUTO"] == "n"
    assert found["CONFIG_LOCALVERSION"] == '"-profdiff"'


@pytest.mark.build
def test_what_the_source_lacks_is_told(
    repo: MadeRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    build(BuildJob.of(GitSpec.parse(f"git:{repo.folder}@base")), "k")
    told = capsys.readouterr().err.splitlines()
    words = ": not as the config asks for: CONFIG_KPROBES=y, CONFIG_UPROBES=y"
    assert sum(line.endswith(words) for line in told) == 1
    (kept,) = kept_kernels()
    assert kept.about.lost == ["CONFIG_KPROBES=y", "CONFIG_UPROBES=y"]
    # And again by whoever takes it from the cache, unless he wants no word.
    again = build(BuildJob.of(GitSpec.parse(f"git:{repo.folder}@base")), "k")
    assert again.source and again.source.lost == kept.about.lost
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(words)
    built(repo, "@base")
    assert capsys.readouterr().err == ""


@pytest.mark.build
def test_a_fragment_goes_on_top(repo: MadeRepository, tmp_path: Path) -> None:
    fragment = tmp_path / "more.config"
    fragment.write_text("CONFIG_LARGE=y\n# CONFIG_SWAP is not set\nCONFIG_HZ=250\n")
    found = config_of(repo, f"@base,config={fragment}")
    assert (found["CONFIG_LARGE"], found["CONFIG_SWAP"], found["CONFIG_HZ"]) == ("y", "n", "250")
    assert found["CONFIG_TINY"] == found["CONFIG_PROC_FS"] == "y"
    plain, more = built(repo, "@base"), built(repo, f"@base,config={fragment}")
    assert plain.image != more.image
    assert more.source and more.source.config == f"profdiff's own and {fragment}"
    # The same options in another file are the same kernel.
    fragment.write_text("# More.\nCONFIG_HZ=250\nCONFIG_SWAP=n\nCONFIG_LARGE=n\nCONFIG_LARGE=y\n")
    assert built(repo, f"@base,config={fragment}").image == more.image


@pytest.mark.build
def test_a_whole_config_is_taken_as_it_is(
    repo: MadeRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "config"
    whole.write_text(f"#\n# Automatically generated file; DO NOT EDIT.\n{NEEDED}CONFIG_OWN=m\n")
    found = config_of(repo, f"@base,config={whole}")
    assert found == options(NEEDED) | {"CONFIG_OWN": "m", "CONFIG_LOCALVERSION_AUTO": "n"}
    assert capsys.readouterr().err == ""
    whole.write_text(f"{whole.read_text()}CONFIG_MORE=m\n")
    build(BuildJob.of(GitSpec.parse(f"git:{repo.folder}@base,config={whole}")), "k")
    told = capsys.readouterr().err.splitlines()
    words = ": 2 options are modules: profdiff builds none"
    assert any(line.endswith(words) for line in told)


@pytest.mark.kernel
def test_a_real_config_is_whole() -> None:
    real = need_kernel("v6.12.107") / "config"
    assert requested(str(real), X86_64).whole


@pytest.mark.build
def test_what_a_guest_lacks_is_refused_before_make(repo: MadeRepository) -> None:
    with pytest.raises(
        InputError,
        match=r"needs CONFIG_RD_GZIP \(a gzip initramfs\) and CONFIG_PROC_FS \(/proc\) built in",
    ) as caught:
        built(repo, "@useless")
    assert "\n" not in str(caught.value)
    assert not list(repo.folder.parent.glob("cache/builds/slots/*/*/.profdiff-*/mm"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": no line sets an option"),
        ("# Linux\n\n", ": no line sets an option"),
        ("Linux\n", ", line 1: Linux sets no option"),
        ("CONFIG_A=y\n\nKASAN=y\n", ", line 3: KASAN=y sets no option"),
        ("CONFIG_A=y # note\n", ", line 1: CONFIG_A=y # note sets no option"),
        ("CONFIG_A=\n", ", line 1: CONFIG_A= sets no option"),
        ("CONFIG_A=yes\n", ", line 1: CONFIG_A=yes sets no option"),
        ('CONFIG_A="b\n', ', line 1: CONFIG_A="b sets no option'),
        ("CONFIG_A is not set\n", ", line 1: CONFIG_A is not set sets no option"),
    ],
)
def test_no_config(repo: MadeRepository, tmp_path: Path, content: str, said: str) -> None:
    place = tmp_path / "config"
    place.write_text(content)
    with pytest.raises(InputError, match=re.escape(f"config={place}{said}")):
        built(repo, f"@base,config={place}")


def test_lines_need_not_be_just_as_kconfig_writes_them(tmp_path: Path) -> None:
    place = tmp_path / "config"
    place.write_bytes(
        b"  CONFIG_KASAN=y\r\n\tCONFIG_SLUB=m \r\n#CONFIG_SWAP is not set\r\n# CONFIG_OLD=y\r\n"
        b'#   CONFIG_PCI is not set\r\nCONFIG_A="b \\" # c"\nCONFIG_B=0x1F\nCONFIG_C=-3'
    )
    found = options(requested(str(place), X86_64).text)
    asked = {
        "CONFIG_KASAN": "y",
        "CONFIG_SLUB": "m",
        "CONFIG_SWAP": "n",
        "CONFIG_PCI": "n",
        "CONFIG_A": '"b \\" # c"',
        "CONFIG_B": "0x1F",
        "CONFIG_C": "-3",
    }
    assert {name: found.get(name) for name in asked} == asked
    assert "CONFIG_OLD" not in found


@pytest.mark.build
def test_what_a_build_makes_at_random_is_turned_off(
    repo: MadeRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "config"
    random = 'CONFIG_RANDSTRUCT_FULL=y\nCONFIG_MODULE_SIG_KEY="certs/signing_key.pem"\n'
    random += "# CONFIG_RANDSTRUCT_NONE is not set\nCONFIG_MODULE_SIG=y\n"
    head = "#\n# Automatically generated file; DO NOT EDIT.\n"
    whole.write_text(f"{head}{NEEDED}{random}")
    kernel = build(BuildJob.of(GitSpec.parse(f"git:{repo.folder}@base,config={whole}")), "k")
    assert kernel.config and kernel.source
    found = options(kernel.config.read_text())
    assert found["CONFIG_RANDSTRUCT_FULL"] == "n"
    assert found["CONFIG_RANDSTRUCT_NONE"] == found["CONFIG_MODULE_SIG"] == "y"
    assert found["CONFIG_MODULE_SIG_KEY"] == '""'
    off = ["CONFIG_RANDSTRUCT_FULL=y", 'CONFIG_MODULE_SIG_KEY="certs/signing_key.pem"']
    assert kernel.source.lost == off
    words = f": turned off, since each build generates it at random: {', '.join(off)}"
    assert any(line.endswith(words) for line in capsys.readouterr().err.splitlines())
    # What has nothing of the kind stays as it is.
    whole.write_text(f'{head}{NEEDED}CONFIG_MODULE_SIG_KEY=""\nCONFIG_RANDSTRUCT_NONE=y\n')
    assert requested(str(whole), X86_64).turned_off == ()


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.arch)
def test_the_default_has_what_guests_need(architecture: Architecture) -> None:
    found = options(requested("", architecture).text)
    config.check(found, architecture, "own")
    assert (found.get("CONFIG_SERIAL_AMBA_PL011_CONSOLE") == "y") is (architecture is ARM64)


# What the fixture kernels have, and kernels that profdiff builds do not.
LEFT_OUT = {
    *("KERNEL_XZ", "SLUB_TINY", "INTEL_MEI", "PCIEASPM", "VGA_ARB"),
    *(f"ACPI_{one}" for one in ("AC", "BATTERY", "FAN", "PCC", "THERMAL")),
    *(f"MQ_IOSCHED_{one}" for one in ("DEADLINE", "KYBER")),
    *(f"PERF_EVENTS_INTEL_{one}" for one in ("CSTATE", "RAPL", "UNCORE")),
    *(f"RD_{one}" for one in ("BZIP2", "LZ4", "LZMA", "LZO", "XZ", "ZSTD")),
    *(f"SERIAL_8250_{one}" for one in ("EXAR", "LPSS", "MID", "PERICOM")),
}


@pytest.mark.kernel
def test_fixture_kernels_have_what_guests_need() -> None:
    real = options((need_kernel("v6.18.15") / "config").read_text())
    config.check(real, X86_64, "real")
    asked = options(requested("", X86_64).text)
    # But for the CPUs that they take, how the image is packed, and what is left out.
    other = {"CONFIG_NR_CPUS=64", "CONFIG_KERNEL_GZIP=y"}
    assert set(config.lost(asked, real)) == other | {f"CONFIG_{one}=n" for one in LEFT_OUT}


NAMES = st.sampled_from([f"CONFIG_{letter}" for letter in "ABCDE"])
VALUES = st.sampled_from(["y", "m", "n", "7", '"a b"'])
CONFIGS = st.dictionaries(NAMES, VALUES)


def written(values: dict[str, str]) -> str:
    """As Kconfig writes it."""
    return "".join(
        f"# {name} is not set\n" if value == "n" else f"{name}={value}\n"
        for name, value in values.items()
    )


@given(CONFIGS, CONFIGS)
def test_merging_replaces(start: dict[str, str], more: dict[str, str]) -> None:
    assert options(merged(written(start), written(more))) == start | more
    assert config.lost(more, options(merged(written(start), written(more)))) == []


@given(CONFIGS, CONFIGS)
def test_lost_is_what_differs(asked: dict[str, str], got: dict[str, str]) -> None:
    lost = config.lost(asked, got)
    assert {one.partition("=")[0] for one in lost} == {
        name for name, value in asked.items() if got.get(name, "n") != value
    }


LINUX = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\n"


@pytest.mark.build
def test_a_config_of_debian_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = small_linux.tree(Makefile=LINUX + small_linux.MAKEFILE)
    linux = make(tmp_path / "debian", {"base": Made(files)})
    asked: list[tuple[tuple[int, int], Architecture]] = []

    def fetch(version: tuple[int, int], architecture: Architecture) -> tuple[str, str]:
        asked.append((version, architecture))
        return "6.12.43+deb13-cloud-amd64", f"{NEEDED}CONFIG_DEBUG_INFO_BTF=y\nCONFIG_HZ=250\n"

    monkeypatch.setattr("profdiff.collectors.kernels.building.config._fetch", fetch)
    kernel = built(linux, "@base,config=distribution")
    assert kernel.config
    found = options(kernel.config.read_text())
    assert (found["CONFIG_HZ"], found["CONFIG_DEBUG_INFO_BTF"]) == ("250", "n")
    assert "CONFIG_TINY" not in found
    assert kernel.source and kernel.source.config == "Debian's 6.12.43+deb13-cloud-amd64"
    assert built(linux, "@base,config=distribution").image == kernel.image
    assert asked == [((6, 12), X86_64)]
    # Of arm64, none is here, and none is fetched only to say whether a kernel was built.
    assert is_known_built(GitSpec.parse(f"git:{linux.folder}@base,config=distribution")) is True
    arm64 = GitSpec.parse(f"git:{linux.folder}@base,config=distribution,arch=arm64")
    assert is_known_built(arm64) is None
    assert len(asked) == 1


def test_a_tree_without_a_version_has_no_config_of_debian(repo: MadeRepository) -> None:
    with pytest.raises(InputError, match="its Makefile sets no VERSION: is it a Linux tree"):
        built(repo, "@base,config=distribution")


@pytest.mark.build
def test_kconfig_runs_again_where_options_may_differ(tmp_path: Path) -> None:
    lacks = small_linux.tree(absent=("CONFIG_KPROBES",))
    more = {"mm/more.c": "int more;\n"}
    linux = make(
        tmp_path / "history",
        {
            "one": Made(small_linux.tree()),
            "two": Made(small_linux.tree() | more, ["one"]),
            "three": Made(lacks | more, ["two"]),
            "four": Made(lacks | more | {"drivers/Kconfig": "x\n"}, ["three"]),
            "five": Made(lacks | more | {"drivers/Kconfig": "x\n", "scripts/x.sh": ""}, ["four"]),
        },
    )
    configured = {}
    for name in linux.commits:
        kernel = built(linux, f"@{name}")
        assert kernel.image and kernel.config
        log = (kernel.image.parent / "build.log").read_text()
        configured[name] = "#\n" in log  # what tinyconfig says
        lost = "CONFIG_KPROBES=y" not in kernel.config.read_text()
        assert lost is (name not in ("one", "two"))
    assert configured == {"one": True, "two": False, "three": True, "four": True, "five": True}
    # What the source lacks is known without it, too.
    made = built(linux, "@two")
    assert made.config and "CONFIG_KPROBES=y\n" in made.config.read_text()
