"""Options of ``git:`` that say how code is made: what they become, what they are recorded as, and
what cannot be done."""

import json
from pathlib import Path

import pytest
import small_linux
from made_repository import Made, MadeRepository, make
from support import need_program

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.build import build
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.slots import slot_for
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.collectors.kernels.kinds.registry import derive_label, parse_varied

KCONFIG = "".join(
    f"config {name}\n\tbool\n"
    for name in (
        "CC_OPTIMIZE_FOR_SIZE",
        "CC_OPTIMIZE_FOR_PERFORMANCE",
        "LTO_CLANG_THIN",
        "LTO_CLANG_FULL",
        "LTO_NONE",
        "CFI_CLANG",
        "AUTOFDO_CLANG",
    )
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """``base``; ``old`` has no option of them; ``unable`` has those that never become set."""
    need_program("make")
    for program in ("gcc-12", "clang-19"):
        need_program(program)
    files = small_linux.tree(arch__Kconfig=KCONFIG)
    unable = small_linux.tree(
        arch__Kconfig=KCONFIG, absent=("CONFIG_LTO_CLANG_THIN", "CONFIG_CFI", "CONFIG_CFI_CLANG")
    )
    return make(
        tmp_path / "linux",
        {
            "base": Made(files),
            "old": Made(small_linux.tree(), ["base"]),
            "unable": Made(unable, ["old"]),
        },
    )


def _job(repo: MadeRepository, rest: str) -> BuildJob:
    return BuildJob.of(GitSpec.parse(f"git:{repo.folder}{rest}"))


def test_they_are_taken_apart(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = f"git:{tmp_path}@v6,cc=clang-19,autofdo=a.prof,cfi=yes,lto=thin,opt=size"
    spec = GitSpec.parse(text)
    assert dict(spec.code) == {
        "opt": "size",
        "lto": "thin",
        "cfi": "yes",
        "autofdo": "a.prof",
    }
    assert GitSpec.parse(str(spec)) == spec
    assert dict(spec.absolute().code)["autofdo"] == str(Path("a.prof").absolute())
    assert derive_label(f"git:{tmp_path}@v6,opt=size") == "v6-opt-size"
    assert spec.link_time
    assert not GitSpec.parse(f"git:{tmp_path}@v6,lto=no").link_time


def test_a_boot_argument_ends_before_them(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    spec, variant = parse_varied(f"git:{tmp_path},append=quiet,lto=thin,cpus=2,opt=size")
    assert str(spec) == f"git:{tmp_path},lto=thin,opt=size"
    assert (variant.append, variant.cpus) == ("quiet", 2)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("opt=O2", r"opt=O2: write opt=speed\|size"),
        ("lto=yes", r"lto=yes: write lto=no\|thin\|full"),
        ("cfi=kcfi", r"cfi=kcfi: write cfi=no\|yes"),
        ("lto=thin,lto=full", "lto= is given twice"),
        ("lt=thin", "there is no option lt=: did you mean lto"),
    ],
)
def test_what_is_malformed(tmp_path: Path, rest: str, message: str) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(InputError, match=message):
        GitSpec.parse(f"git:{tmp_path},{rest}")


@pytest.mark.build
@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("@base,cc=gcc-12,lto=thin", "lto= needs clang, and this is gcc-12 .*: write cc=clang"),
        ("@base,cfi=yes", "cfi= needs clang, and this is gcc"),
        ("@old,cc=clang-19,lto=full", r"has no option for lto=full \(CONFIG_LTO_CLANG_FULL\)"),
        ("@base,cc=clang-19,autofdo=/no/such", "autofdo=/no/such: "),
    ],
)
def test_what_is_refused_before_anything_is_built(
    repo: MadeRepository, rest: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _job(repo, rest)


@pytest.mark.build
@pytest.mark.parametrize(
    ("code", "option"), [("lto=thin", "CONFIG_LTO_CLANG_THIN"), ("cfi=yes", "CONFIG_CFI or CONF")]
)
def test_what_does_not_become_set_is_refused(repo: MadeRepository, code: str, option: str) -> None:
    job = _job(repo, f"@unable,cc=clang-19,{code}")
    with pytest.raises(InputError, match=rf"{code} \({option}.*\) is not set: .*clang"):
        build(job, "k", quiet=True)
    # It is no reason to take what is there for damaged.
    with slot_for(job.prepared, job.objects) as slot:
        assert not slot.was_unclean


@pytest.mark.build
def test_they_become_options_of_the_config(repo: MadeRepository) -> None:
    job = _job(repo, "@base,cc=clang-19,opt=size,lto=thin,cfi=yes")
    kernel = build(job, "k", quiet=True)
    assert kernel.config
    assert kernel.source
    lines = kernel.config.read_text().splitlines()
    assert {
        "CONFIG_CC_OPTIMIZE_FOR_SIZE=y",
        "# CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE is not set",
        "CONFIG_LTO_CLANG_THIN=y",
        "# CONFIG_LTO_NONE is not set",
        "# CONFIG_LTO_CLANG_FULL is not set",
        "CONFIG_CFI_CLANG=y",
    } <= set(lines)
    assert kernel.source.options == ["cc=clang-19", "opt=size", "lto=thin", "cfi=yes"]
    # What Linux calls otherwise is not lost.
    assert not [one for one in kernel.source.lost if "CFI" in one]
    assert json.loads((kernel.config.parent / "build.json").read_text())["source"]["options"]


@pytest.mark.build
def test_each_is_a_kernel_of_its_own(repo: MadeRepository, tmp_path: Path) -> None:
    profile = tmp_path / "a.prof"
    profile.write_bytes(b"one")
    rests = ["", ",opt=size", ",lto=thin", ",lto=full", ",cfi=yes", f",autofdo={profile}"]
    jobs = [_job(repo, f"@base,cc=clang-19{rest}") for rest in rests]
    assert len({job.key for job in jobs}) == len(jobs)
    (variable,) = jobs[-1].variables
    name, _, kept = variable.partition("=")
    assert name == "CLANG_AUTOFDO_PROFILE"
    assert Path(kept).read_bytes() == b"one"
    # By what it holds: nothing is compiled with another one of that name.
    profile.write_bytes(b"two")
    other = _job(repo, f"@base,cc=clang-19,autofdo={profile}")
    assert other.key != jobs[-1].key
    assert other.variables != jobs[-1].variables
    # As it was before there were such options.
    plain = _job(repo, "@base,cc=clang-19")
    assert not plain.variables
    assert plain.key == jobs[0].key
