"""What options depend on, as Kconfig files say it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.collectors.kernels.building.kconfig import (
    Combined,
    Compared,
    Expression,
    Kconfig,
    Literal,
    UnmetError,
    parse,
)

MAIN = """\
mainmenu "Linux"
source "arch/$(SRCARCH)/Kconfig"
rsource "../outside"

config EXPERT
	bool "Expert"
	help
		config NOT_ONE
		depends on NOTHING

			if it is indented, it is help

config QUIET
	bool
	default y

menu "Memory"
	depends on MMU
	visible if EXPERT

config SLUB_TINY
	bool "Tiny"
	depends on EXPERT && \\
		!COMPILE_TEST
	select STACKDEPOT

config DEBUG_VM
	bool "Check"
	depends on SLUB_TINY || (EXPERT && !KASAN)

config VM_PGFLAGS
	bool "Flags" if DEBUG_VM = y
	depends on HZ != 300

config LOOP_A
	bool "a"
	depends on LOOP_B
config LOOP_B
	bool "b"
	depends on LOOP_A

endmenu

if EXPERT
choice
	prompt "Preemption"
	default PREEMPT_NONE
config PREEMPT_NONE
	bool "No"
config PREEMPT
	bool "Full"
config PREEMPT_LAZY
	bool "Lazy"
	depends on HAS_LAZY if ARCH_NEEDS
endchoice
endif

config BOTH
	bool "Both"
	depends on DEBUG_VM && !SLUB_TINY && !EXPERT
config STACKDEPOT
	bool
"""
ARCH = """\
config MMU
	def_bool y
config COMPILE_TEST
	bool "Compile"
config KASAN
	bool "KASAN"
comment "nothing"
	depends on EXPERT
config NR_CPUS
	int "CPUs"
	range 2 8 if $(cc-option,-m32 (x))
	depends on $(success,true) && 0 < 1
"""


@pytest.fixture
def tree(tmp_path: Path) -> Kconfig:
    folder = tmp_path / "linux"
    (folder / "arch/x86").mkdir(parents=True)
    (folder / "Kconfig").write_text(MAIN)
    chain = (f'config CHAIN_{n}\n\tbool "c"\n\tdepends on CHAIN_{n + 1}\n' for n in range(200))
    (folder / "arch/x86/Kconfig").write_text(ARCH + "".join(chain))
    (tmp_path / "outside").write_text('config OUTSIDE\n\tbool "x"\n')
    return Kconfig.read(folder, "x86")


def test_files_of_the_tree_are_read_and_no_others(tree: Kconfig) -> None:
    defined = {name for name, option in tree.items() if option.defined}
    assert {"EXPERT", "MMU", "NR_CPUS", "PREEMPT_LAZY", "BOTH"} <= defined
    assert not {"OUTSIDE", "NOT_ONE", "NOTHING"} & set(tree)
    assert tree["STACKDEPOT"].selected == ["SLUB_TINY"]
    assert tree["PREEMPT"].choice == ["PREEMPT_NONE", "PREEMPT", "PREEMPT_LAZY"]
    assert len(tree["SLUB_TINY"].prompts) == 1
    assert tree["QUIET"].prompts == tree["STACKDEPOT"].prompts == []


@pytest.mark.parametrize(
    ("name", "value", "config", "needed"),
    [
        ("EXPERT", "y", "", ""),
        ("NR_CPUS", "8", "", ""),
        ("SLUB_TINY", "y", "MMU=y EXPERT=y", ""),
        ("SLUB_TINY", "y", "MMU=y", "EXPERT=y"),
        ("SLUB_TINY", "y", "MMU=y COMPILE_TEST=y", "EXPERT=y COMPILE_TEST=n"),
        # The way that sets less.
        ("DEBUG_VM", "y", "MMU=y EXPERT=y KASAN=y", "SLUB_TINY=y"),
        ("DEBUG_VM", "y", "MMU=y EXPERT=y", ""),
        ("VM_PGFLAGS", "y", "MMU=y EXPERT=y HZ=250", "DEBUG_VM=y"),
        # What is on in a choice goes off.
        ("PREEMPT", "y", "EXPERT=y PREEMPT_NONE=y", "PREEMPT_NONE=n"),
        # Each depends on the other.
        ("LOOP_A", "y", "MMU=y EXPERT=y", "LOOP_B=y"),
        ("PREEMPT_LAZY", "y", "EXPERT=y PREEMPT=y", "PREEMPT=n"),
        ("SLUB_TINY", "n", "MMU=y EXPERT=y SLUB_TINY=y", ""),
    ],
)
def test_what_must_be_set_too(
    tree: Kconfig, name: str, value: str, config: str, needed: str
) -> None:
    known, wanted = (dict(one.split("=") for one in text.split()) for text in (config, needed))
    assert tree.needed(name, value, known) == wanted


@pytest.mark.parametrize(
    ("name", "value", "config", "why"),
    [
        ("OUTSIDE", "y", "", "the source has no option OUTSIDE"),
        ("QUIET", "y", "", "it is not possible to set QUIET"),
        ("SLUB_TINY", "y", "", "it depends on MMU: it is not possible to set MMU"),
        ("PREEMPT", "n", "EXPERT=y PREEMPT=y", r"choice: .*\(PREEMPT_NONE, PREEMPT_LAZY\)"),
        ("PREEMPT_LAZY", "y", "EXPERT=y ARCH_NEEDS=y", "ARCH_NEEDS: the source has no option"),
        ("VM_PGFLAGS", "y", "MMU=y EXPERT=y HZ=300", "the value of HZ"),
        ("BOTH", "y", "MMU=y", "EXPERT to be off"),
        ("CHAIN_0", "y", "", "depends on too many others"),
    ],
)
def test_what_cannot_be(tree: Kconfig, name: str, value: str, config: str, why: str) -> None:
    with pytest.raises(UnmetError, match=why):
        tree.needed(name, value, dict(one.split("=") for one in config.split()))


def test_a_tree_that_names_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "Kconfig").write_text('source "Kconfig"\nendmenu\nendif\nendchoice\ndepends on A\n')
    assert Kconfig.read(tmp_path, "x86") == {}


def test_many_ways_are_not_all_tried(tmp_path: Path) -> None:
    ways = "".join(
        f'config W_{n}\n\tbool "w"\n\tdepends on !X_{n} && (W_{n + 1} || W_{n + 1} && X_{n})\n'
        for n in range(45)
    )
    (tmp_path / "Kconfig").write_text(ways)
    with pytest.raises(UnmetError):
        Kconfig.read(tmp_path, "x86").needed("W_0", "y", {})


NAMES = ("A", "B", "C")
EXPRESSIONS = st.recursive(
    st.sampled_from([*NAMES, "A=y", "B!=y", "C=n", "A!=n"]),
    lambda inner: st.one_of(
        inner.map("!({})".format),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}) && ({two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} || {two[1]})"),
    ),
    max_leaves=8,
)


def holds(expression: Expression, on: dict[str, bool]) -> bool:
    """Evaluated by a way of its own."""
    if isinstance(expression, Literal):
        return on[expression.name] is not expression.off
    assert isinstance(expression, Combined)
    return (any if expression.either else all)(holds(one, on) for one in expression.parts)


@given(EXPRESSIONS, st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_expressions_mean_what_python_says(text: str, values: tuple[bool, ...]) -> None:
    on = dict(zip(NAMES, values, strict=True))
    # y and n alone: "= y" is the option, "= n" its opposite.
    plain = text.replace("A!=n", "A").replace("A=y", "A").replace("B!=y", "(not B)")
    plain = plain.replace("C=n", "(not C)").replace("!", " not ")
    plain = plain.replace("&&", " and ").replace("||", " or ")
    assert holds(parse(text), on) is eval(plain, {}, on)  # noqa: S307


def test_what_cannot_be_read_is_true() -> None:
    assert parse("") == parse("&& A") == parse("$(cc-option,-m32)") == Combined()
    assert parse("1 < 2") == Combined()
    assert parse("(" * 5000) == Combined()
    assert parse('HZ = "x" # no') == Compared("HZ", "x", False)
