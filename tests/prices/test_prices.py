"""Files of prices, which may come from strangers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from profdiff.base.errors import InputError, in_line
from profdiff.collectors.calibration.prices import read_prices

EXAMPLE = next((ROOT / "examples/prices").glob("*.json"))


def document() -> dict[str, Any]:
    return dict(json.loads(EXAMPLE.read_text()))


def with_price(**changes: object) -> dict[str, Any]:
    whole = document()
    whole["prices"][0].update(changes)
    return whole


BAD = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "",
    "deep": "[" * 100_000,
    "another format": json.dumps({**document(), "schema": "profdiff.prices/2"}),
    "a report": json.dumps({"schema": "profdiff.report/2"}),
    "no prices": json.dumps({**document(), "prices": []}),
    "a field more": json.dumps({**document(), "seconds": 1}),
    "too many": json.dumps({**document(), "prices": document()["prices"] * 100}),
    "a name twice": json.dumps({**document(), "prices": document()["prices"] * 2}),
    "no number": json.dumps(with_price(minimum="20")),
    "infinite": json.dumps(with_price(high=float("inf"))),
    "NaN": json.dumps(with_price(median=float("nan"))),
    "negative": json.dumps(with_price(minimum=-1)),
    "falling": json.dumps(with_price(minimum=20, median=19, high=21)),
    "a long text": json.dumps({**document(), "kernel": "x" * 501}),
    "a name of markup": json.dumps(with_price(name="<b>")),
    "many values": json.dumps({**document(), "mitigations": {str(n): "" for n in range(20_000)}}),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_prices(file)
    assert caught.value.status == 2
    told = in_line(str(caught.value))
    assert str(file) in told
    assert "profdiff calibrate" in told


@pytest.mark.parametrize("place", ["/dev/zero", "/", "/nonexistent"])
def test_what_is_no_file(place: str) -> None:
    with pytest.raises(InputError, match="profdiff calibrate"):
        read_prices(Path(place))


@given(st.binary())
def test_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("prices") / "prices.json"
    file.write_bytes(data)
    with pytest.raises(InputError):
        read_prices(file)


MITIGATIONS = [
    ({}, "return", ""),
    ({"spec_rstack_overflow": "Mitigation: Safe RET"}, "return-safe-ret", ""),
    ({"spec_rstack_overflow": "Vulnerable: Safe RET, no microcode"}, "return-safe-ret", ""),
    ({"retbleed": "Mitigation: untrained return thunk; SMT disabled"}, "return-thunk", ""),
    (
        {"indirect_target_selection": "Mitigation: Aligned branch/return thunks"},
        "return-thunk",
        "",
    ),
    ({"spectre_v2": "Mitigation: Retpolines; IBPB: conditional"}, "return", "-retpoline"),
    ({"spec_rstack_overflow": "Not affected", "retbleed": "Vulnerable"}, "return", ""),
    ({"spectre_v2": "Mitigation: Enhanced / Automatic IBRS"}, "return", ""),
]


@pytest.mark.parametrize(("told", "returns", "branches"), MITIGATIONS)
def test_what_a_kernel_chooses(
    tmp_path: Path, told: dict[str, str], returns: str, branches: str
) -> None:
    """Texts of Linux: arch/x86/kernel/cpu/bugs.c."""
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({**document(), "mitigations": told}))
    prices = read_prices(file)
    assert (prices.chosen_return, prices.chosen_branch) == (returns, branches)


def test_a_title_moves_no_cursor(tmp_path: Path) -> None:
    whole = document()
    whole["cpu"]["name"] = "\x1b[2Jx"
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({**whole, "hypervisor": "\u202eMVK"}))
    prices = read_prices(file)
    assert "\x1b" not in prices.title + "".join(prices.cautions)
    assert "\u202e" not in prices.title + "".join(prices.cautions)
