"""Options that are toggled: what becomes of a config, told before anything is compiled; builds that
share their object files; SPECs that set options."""

import re
from pathlib import Path

import pytest
import small_linux
from built_kernels import built, compiled
from made_repository import Made, MadeRepository, make
from support import need_program

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.building.config import options
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.collectors.kernels.kinds.registry import derive_label, parse_arguments
from profdiff.collectors.kernels.toggles import Toggle, Toggled, toggled

KCONFIG = """\
config LARGE
	bool "Large"
	depends on SWAP && !TINY
config TINY
	bool "Tiny"
config SWAP
	bool "Swap"
config PROC_FS
	bool "proc"
config ABSENT
	bool "What olddefconfig takes away"
config HIDDEN
	bool
config WORD
	string "Word"
"""
OTHER = {"mm__mmap_dot_c": '#include "small.h"\nint mmap_region(void) { return PAGES; }\n'}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    need_program("make")
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    tree = small_linux.tree(Kconfig=KCONFIG, absent=("CONFIG_ABSENT", "CONFIG_HIDDEN"), **OTHER)
    # As Kbuild's fixdep has it: mmap.o depends on CONFIG_LARGE alone, mprotect.o on none.
    make_file = tree["Makefile"].replace(
        "$(obj)/mm/%.o: mm/%.c $(obj)/include/config/auto.conf",
        "$(obj)/mm/mmap.o: $(obj)/include/config/LARGE\n"
        "$(obj)/include/config/LARGE: FORCE\n"
        "\t@mkdir -p $(@D)\n"
        "\t@grep LARGE= $(obj)/.config | cmp -s - $@ || grep LARGE= $(obj)/.config > $@ || true\n"
        "$(obj)/mm/%.o: mm/%.c",
    )
    return make(tmp_path / "linux", {"base": Made(tree | {"Makefile": make_file})})


def job(repo: MadeRepository, rest: str = "") -> BuildJob:
    return BuildJob.of(GitSpec.parse(f"git:{repo.folder}@base{rest}"))


def outcome(repo: MadeRepository, text: str) -> Toggled:
    (found,) = toggled(job(repo), [Toggle.parse(text)])
    return found


@pytest.mark.build
def test_what_an_option_takes_and_changes(repo: MadeRepository) -> None:
    assert outcome(repo, "LARGE") == Toggled(Toggle("LARGE", "y"), needs=["TINY=n"])
    assert outcome(repo, "CONFIG_SWAP").toggle == Toggle("SWAP", "n")
    assert outcome(repo, 'WORD="a b"').settings == ['CONFIG_WORD="a b"']


@pytest.mark.build
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NOWHERE", "the source has no such option"),
        ("SWAP=y", "the base has SWAP=y"),
        ("ABSENT", "Kconfig makes it n"),
        ("HIDDEN", "it is not possible to set HIDDEN"),
        ("PROC_FS", r"a guest needs CONFIG_PROC_FS \(/proc\) built in"),
        ("LOCALVERSION", 'it is "-profdiff": write LOCALVERSION=VALUE'),
    ],
)
def test_what_is_refused_costs_not_the_others(repo: MadeRepository, text: str, why: str) -> None:
    first, second = toggled(job(repo), [Toggle.parse(text), Toggle("LARGE")])
    assert re.search(why, first.refused), first.refused
    assert "\n" not in first.refused
    assert not second.refused


@pytest.mark.build
def test_kconfig_is_asked_once_and_nothing_is_compiled(
    repo: MadeRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = outcome(repo, "LARGE")
    assert not small_linux.built(tmp_path / "cache")
    (log,) = tmp_path.glob("cache/builds/slots/*/*.log")
    log.write_text("")
    assert outcome(repo, "LARGE") == first
    assert log.read_text() == ""
    # Another base is another question.
    (other,) = toggled(job(repo, ",CONFIG_TINY=n"), [Toggle("LARGE")])
    assert other.needs == []


@pytest.mark.build
def test_builds_go_on_from_each_other(repo: MadeRepository) -> None:
    base = built(repo, "@base")
    assert compiled(base) == ["mm/mmap.o", "mm/mprotect.o"]
    settings = ",".join(outcome(repo, "LARGE").settings)
    large = built(repo, f"@base,{settings}")
    # One of two files depends on the option.
    assert compiled(large) == ["mm/mmap.o"]
    assert base.config and large.config and base.image != large.image
    before, after = (options(one.config.read_text()) for one in (base, large) if one.config)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {"CONFIG_LARGE", "CONFIG_TINY"}
    assert large.source and large.source.settings == ["CONFIG_LARGE=y", "CONFIG_TINY=n"]
    assert large.source.lost == []
    # And back: the config is made anew.
    assert built(repo, "@base").image == base.image
    assert job(repo).objects == job(repo, f",{settings}").objects
    assert job(repo).key != job(repo, f",{settings}").key


def test_a_spec_sets_options(repo: MadeRepository) -> None:
    text = f'git:{repo.folder}@base,CONFIG_HZ=250,cc=gcc,CONFIG_A="x y",CONFIG_HZ=100'
    spec = GitSpec.parse(text)
    assert spec.settings == ("CONFIG_HZ=100", 'CONFIG_A="x y"')
    assert spec.compiler == "gcc"
    assert GitSpec.parse(str(spec)) == spec == spec.absolute()
    assert derive_label(f"git:{repo.folder}@base,CONFIG_B=n") == "base-B-n"
    (one,) = parse_arguments([f"git:{repo.folder}@base,append=a,b=1,CONFIG_B=y,cpus=2"])
    assert one.variant.append == "a,b=1"
    assert str(one.spec) == f"git:{repo.folder}@base,CONFIG_B=y"


@pytest.mark.parametrize("option", ["CONFIG_A=", "CONFIG_A=yes", 'CONFIG_A="a', "CONFIG_A=y+x"])
def test_a_spec_refuses_what_sets_no_option(repo: MadeRepository, option: str) -> None:
    with pytest.raises(InputError, match="sets no option: write CONFIG_A=y, m, n"):
        GitSpec.parse(f"git:{repo.folder}@base,{option}")


def test_what_a_build_makes_at_random_is_refused(repo: MadeRepository) -> None:
    with pytest.raises(InputError, match="generates it at random"):
        job(repo, ",CONFIG_RANDSTRUCT_FULL=y")


@pytest.mark.parametrize("text", ["", "A B", "A=", "A=m", 'A="x', "a-b", "A=1,B"])
def test_what_is_no_toggle_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write the name of an option"):
        Toggle.parse(text)
