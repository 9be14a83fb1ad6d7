"""What a SPEC gives its kernel's guest: boot arguments, memory, vCPUs, a processor."""

import shlex
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, profdiff

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.kinds.registry import derive_label, parse, parse_arguments
from profdiff.collectors.kernels.variant import split, suffix
from profdiff.collectors.records import NO_VARIANT, Guest, Variant, arguments

KSTACK = "randomize_kstack_offset=off"
ARGUMENTS = st.text(string.ascii_letters + string.digits + '=,." -_', max_size=60)


@pytest.mark.parametrize(
    ("text", "spec", "given_"),
    [
        (f"debian:6.12.95,append={KSTACK}", "debian:6.12.95", {"append": KSTACK}),
        ("debian:sid,append=quiet,arch=arm64", "debian:sid,arch=arm64", {"append": "quiet"}),
        ("I,append=a=1,2,vmlinux=E", "I,vmlinux=E", {"append": "a=1,2"}),
        ("git:.@v6.12,cc=gcc-13,memory=2G", "git:.@v6.12,cc=gcc-13", {"memory": 2048}),
        ("k,cpus=2,cpu=max,-smep", "k", {"cpus": 2, "cpu": "max,-smep"}),
        ("k,append='a=1,cpus=2',cpus=3", "k", {"append": "a=1,cpus=2", "cpus": 3}),
        ('k,append="a b"', "k", {"append": "a b"}),
        ("k,append=a,append=b=2", "k", {"append": "a b=2"}),
        ('k,append=dyndbg="file x, cpus +p"', "k", {"append": 'dyndbg="file x, cpus +p"'}),
        ("a.deb,b.deb,append=x", "a.deb,b.deb", {"append": "x"}),
        ("k,appendix=1", "k,appendix=1", {}),
    ],
)
def test_it_is_taken_apart(text: str, spec: str, given_: dict[str, object]) -> None:
    assert split(text) == (spec, Variant(**given_))  # type: ignore[arg-type]


@given(ARGUMENTS, st.none() | st.integers(64, 9999), st.none() | st.integers(1, 255))
def test_what_is_written_is_read_again(append: str, memory: int | None, cpus: int | None) -> None:
    given_ = Variant(append=append.strip(), memory=memory, cpus=cpus)
    assert split(f"K{suffix(given_)}") == ("K", given_)
    # As it is, or behind a label, for a shell.
    assert shlex.split(shlex.quote(f"a=K{suffix(given_)}")) == [f"a=K{suffix(given_)}"]
    assert suffix(NO_VARIANT) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k,append=", "append= has no value"),
        ("k,append='a b", "append= has no closing ' before a comma"),
        ("k,append=a'b", "single quote"),
        ("k,append=a\nb", "control character"),
        (f"k,append={'x' * 1025}", "1,025 characters"),
        ("k,memory=2T", "memory=2T is not a size"),
        ("k,memory=1M", "memory=1M is not a size of at least 64M"),
        ("k,memory=1G,memory=2G", "memory= is given twice"),
        ("k,cpus=1,2", "cpus=1,2 is not one number from 1 to 255; --cpus N,... sweeps"),
        ("k,cpus=0", "cpus=0 is not one number"),
        ("running,append=quiet", "append= is for a guest, and running runs its kernel already"),
        ("ssh://host,memory=1G", "memory= is for a guest"),
    ],
)
def test_what_is_malformed_says_so_in_a_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=r"k|ssh|append") as error:
        parse_arguments([f"a={text}"])
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kernel_is_named_twice(tmp_path: Path) -> None:
    """With labels, or with those that what it is given makes."""
    texts = ["debian:6.12.95", f"debian:6.12.95,append={KSTACK}", "debian:6.12.95,memory=2G"]
    found = parse_arguments(texts)
    assert [one.label for one in found] == [
        *("6.12.95", "6.12.95-randomize_kstack_offset-off", "6.12.95-memory-2048M")
    ]
    assert {one.spec.text for one in found} == {"debian:6.12.95"}
    assert [one.variant.append for one in found] == ["", KSTACK, ""]
    # What exists by its whole name is that.
    odd = tmp_path / "k,append=x"
    odd.mkdir()
    (argument,) = parse_arguments([f"a={odd}"])
    assert (argument.spec.text, argument.variant) == (str(odd), NO_VARIANT)


def test_a_name_stands_for_it(tmp_path: Path) -> None:
    config = {"PROFDIFF_CONFIG": str(tmp_path / "config")}
    spec = f"debian:6.12.95,append={KSTACK}"
    assert profdiff("kernel", "add", "off", spec, env=config).stdout == f"off = {spec}\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFDIFF_CONFIG", config["PROFDIFF_CONFIG"])
        assert parse("off").text == "debian:6.12.95"
        (argument,) = parse_arguments(["off,append=quiet,cpus=2"])
        assert argument.variant == Variant(append=f"{KSTACK} quiet", cpus=2)
        assert derive_label("off") == "off"
    assert spec in profdiff("kernel", "list", env=config).stdout


def test_the_guest_of_a_kernel() -> None:
    """Its own arguments come behind those of all."""
    usual = Guest(memory=1024, append="quiet", settle=5, timeout=60)
    found = Variant(append="a=1", memory=512, cpu="max").guest(usual)
    assert (found.append, found.memory, found.cpu) == ("quiet a=1", 512, "max")
    assert NO_VARIANT.guest(usual) == usual
    assert arguments('a="b c" d') == ['a="b c"', "d"]


def test_a_bisection_gives_all_revisions_the_same_guest() -> None:
    command = ["bisect", "--good", f"v6.12,append={KSTACK}", "--bad", "v6.18", "--", "true"]
    assert error_line(profdiff(*command, status=2)).endswith(
        "a bisection gives all revisions the same guest: write --append, --memory, --cpus or "
        f"--cpu instead of {KSTACK}"
    )
