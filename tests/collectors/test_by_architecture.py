"""Values that differ by architecture: ``[ARCH=]VALUE``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import (
    ARCHITECTURES,
    ARM64,
    X86_64,
    Architecture,
    named,
    value_for,
)


@pytest.mark.parametrize(
    ("texts", "x86_64", "arm64"),
    [
        ([], None, None),
        (["/opt"], "/opt", "/opt"),
        (["arm64=/a"], None, "/a"),
        (["aarch64=/a", "/b"], "/b", "/a"),
        (["arm64=/a", "amd64=/x"], "/x", "/a"),
        (["max,pauth=off"], "max,pauth=off", "max,pauth=off"),
        (["arm64=max,pauth=off"], None, "max,pauth=off"),
        (["arm64=x86_64=/a"], None, "x86_64=/a"),
    ],
)
def test_the_own_value_comes_first(texts: list[str], x86_64: str | None, arm64: str | None) -> None:
    assert value_for("--o", texts, X86_64) == x86_64
    assert value_for("--o", texts, ARM64) == arm64


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["/a", "/b"], "--o is given twice: /a and /b"),
        (["arm64=/a", "aarch64=/b"], "--o is given twice for arm64: /a and /b"),
        (["arm64="], "--o arm64=: no value"),
        ([""], "no value"),
    ],
)
def test_what_says_two_things_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        value_for("--o", texts, X86_64)


VALUES = st.text(min_size=1).filter(lambda text: named(text.partition("=")[0]) is None)


@given(st.dictionaries(st.sampled_from(ARCHITECTURES), VALUES), st.none() | VALUES)
def test_every_value_comes_back(
    by_architecture: dict[Architecture, str], of_all: str | None
) -> None:
    texts = [f"{one.arch}={value}" for one, value in by_architecture.items()]
    texts += [of_all] if of_all is not None else []
    for one in ARCHITECTURES:
        assert value_for("--o", texts, one) == by_architecture.get(one, of_all)
