"""``profdiff report --prices``: what changed items would cost."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, error_line, profdiff

from profdiff.collectors.calibration.prices import Prices, read_prices
from profdiff.evidence.difference import Difference
from profdiff.evidence.statistics import Verdict
from profdiff.profile.code.classes import ITEMS, Item
from profdiff.topics.inventory.measure import Inventory, ItemRow
from profdiff.topics.inventory.prices import PricedInventory, PricedRow

EXAMPLE = next((ROOT / "examples/prices").glob("*.json"))


@pytest.fixture(scope="module")
def prices() -> dict[str, Any]:
    return {price["name"]: price for price in json.loads(EXAMPLE.read_text())["prices"]}


def section(session: Path, *options: object) -> dict[str, Any]:
    shown = profdiff("report", session, "inventory", *options, "--json", "-").stdout
    (found,) = json.loads(shown)["sections"]
    return dict(found)


def table(found: dict[str, Any], name: str) -> list[dict[Any, Any]]:
    """The rows by the columns' names; those of a kernel by name and kernel."""
    (made,) = [one for one in found["tables"] if one["name"] == name]
    keys = [
        (column["name"], column["kernel"]) if column.get("kernel") else column["name"]
        for column in made["columns"]
    ]
    return [dict(zip(keys, row, strict=True)) for row in made["rows"]]


def test_the_costs_are_those_of_the_inventory(recorded: Path, prices: dict[str, Any]) -> None:
    """Each cost is the item's difference times its price."""
    found = section(recorded, "--prices", EXAMPLE)
    (label,) = {key[1] for key in table(found, "prices")[0] if key[0] == "delta"}
    items = {row["item"]: row for row in table(found, "inventory")}
    costs = table(found, "prices")
    assert {row["item"] for row in costs} >= {"returns", "taken-jumps"}
    for row in costs:
        delta, cost = row["delta", label], (row["least", label], row["most", label])
        assert delta == items[row["item"]]["delta", label] or row["item"] == "returns"
        ends = sorted((delta * row["low"], delta * row["high"]))
        assert cost == pytest.approx(ends, abs=1)
    (jumps,) = [row for row in costs if row["item"] == "taken-jumps"]
    assert (jumps["low"], jumps["high"]) == (prices["jump"]["minimum"], prices["jump"]["high"])
    of_returns = [row for row in costs if row["item"] == "returns"]
    assert sum(row["delta", label] for row in of_returns) == items["returns"]["delta", label]
    # The fixtures execute no thunk, and the machine that was measured has Safe RET.
    ends = prices["return"]["minimum"], prices["return-safe-ret"]["high"]
    assert ends in [(row["low"], row["high"]) for row in of_returns]
    assert "plain to Safe RET" in {row["kind"] for row in of_returns}


def test_no_sum_and_no_time(recorded: Path) -> None:
    found = section(recorded, "--prices", EXAMPLE)
    (made,) = [one for one in found["tables"] if one["name"] == "prices"]
    assert not made.get("sums")
    told = " ".join([*found["sentences"], *made["notes"]])
    assert "have no sum" in told
    assert not re.search(r"\b(ns|µs|seconds|nanoseconds|slower|faster)\b", told)
    assert profdiff("report", recorded, "--prices", EXAMPLE).returncode == 0


def test_every_form_has_them(recorded: Path, tmp_path: Path) -> None:
    text = profdiff("report", recorded, "--prices", EXAMPLE).stdout
    assert "cycles that changes would cost" in text
    assert re.search(r"has [\d.,]+ (more|fewer) returns per op: .* cycles at .* each", text)
    lines = profdiff("report", recorded, "inventory", "--prices", EXAMPLE, "--csv", "-").stdout
    assert "\nprices," in lines
    page = tmp_path / "page.html"
    profdiff("report", recorded, "--prices", EXAMPLE, "--html", page)
    assert page.stat().st_size


def test_prices_of_a_cpu_come_along(recorded: Path) -> None:
    named = section(recorded, "--prices", EXAMPLE.stem)
    assert table(named, "prices") == table(section(recorded, "--prices", EXAMPLE), "prices")
    refused = error_line(profdiff("report", recorded, "--prices", "zen9", status=2))
    assert "there is no file zen9" in refused and EXAMPLE.stem in refused


def test_a_session_carries_them(tmp_path: Path, recorded: Path) -> None:
    """A file in the folder, which a stranger can have put there."""
    session = tmp_path / "carried.profdiff"
    shutil.copytree(recorded, session)
    assert "prices" not in {one["name"] for one in section(session)["tables"]}
    shutil.copy(EXAMPLE, session / "prices.json")
    carried = section(session)
    assert table(carried, "prices") == table(section(recorded, "--prices", EXAMPLE), "prices")
    mail = profdiff("mail", session, "--from", "A <a@example.org>").stdout
    assert "cycles at" in " ".join(mail.split())
    (session / "prices.json").write_text("{")
    damaged = section(session)
    assert "prices" not in {one["name"] for one in damaged["tables"]}
    assert "prices.json" in " ".join(damaged["notes"])
    (session / "prices.json").unlink()
    (session / "prices.json").symlink_to("/etc/hostname")
    assert "prices.json" in " ".join(section(session)["notes"])


def test_prices_of_another_architecture(recorded: Path, tmp_path: Path) -> None:
    other = json.loads(EXAMPLE.read_text())
    other["cpu"]["architecture"] = "arm64"
    file = tmp_path / "arm64.json"
    file.write_text(json.dumps(other))
    found = section(recorded, "--prices", file)
    assert table(found, "prices") == []
    (made,) = [one for one in found["tables"] if one["name"] == "prices"]
    assert made["notes"] == ["The prices are of arm64, the kernels of x86_64."]


def test_a_file_without_prices(recorded: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("[]")
    assert str(file) in error_line(profdiff("report", recorded, "--prices", file, status=2))
    words = ("report", recorded, "--types", "--prices", EXAMPLE)
    assert "--prices works only with" in error_line(profdiff(*words, status=2))


finite = st.integers(-(10**12), 10**12)


@given(finite, st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from([*Verdict]))
def test_a_cost_is_a_product(delta: int, low: float, more: float, verdict: Verdict) -> None:
    change = Difference(float(delta), float(delta), float(delta), verdict)
    row = PricedRow(ItemRow(Item("x", "x"), "", None, [0, delta], [change]), low, low + more)
    cost = row.cost(1)
    if not delta or not verdict.is_sure:
        assert cost is None
        return
    assert cost is not None
    assert cost[0] <= cost[1]
    assert {*cost} == {delta * low, delta * (low + more)}


def item(name: str, base: int, other: int, function: int | None = None) -> ItemRow:
    delta = float(other - base)
    known = ITEMS.get(name) or Item(name, name, costly=True)
    change = Difference(delta, delta, delta, Verdict.EXACT)
    return ItemRow(known, "", function, [base, other], [change])


def inventory(returns: Mapping[str, tuple[int, int]], *rows: ItemRow) -> Inventory:
    """What prices are told of one: kernels whose functions of these names execute returns."""
    functions = [item("returns", *ends, number) for number, ends in enumerate(returns.values())]
    whole = [sum(ends[kernel] for ends in returns.values()) for kernel in (0, 1)]
    comparison = SimpleNamespace(
        functions=[SimpleNamespace(name=name) for name in returns],
        runs=[SimpleNamespace(qemu=SimpleNamespace(architecture="x86_64"))],
        ops=10,
    )
    made = SimpleNamespace(
        labels=["base", "new"],
        comparison=comparison,
        rows=[item("returns", *whole), *rows],
        functions={"returns": functions},
    )
    return cast("Inventory", made)


def mitigated(**mitigations: str) -> Prices:
    return msgspec.structs.replace(read_prices(EXAMPLE), mitigations=mitigations)


SAFE_RET = {"spec_rstack_overflow": "Mitigation: Safe RET"}
THUNKS = [
    ({"do_it": (10, 20)}, {}, {"plain": (10, "return", "return")}),
    ({"do_it": (10, 20)}, SAFE_RET, {"plain to Safe RET": (10, "return", "return-safe-ret")}),
    (
        {"srso_alias_safe_ret": (10, 20), "do_it": (3, 1)},
        SAFE_RET,
        {"Safe RET": (10, "return-safe-ret", "return-safe-ret"), "plain": (-2, "return", "return")},
    ),
    (
        {"srso_safe_ret": (20, 10)},
        {},
        {"Safe RET": (-10, "return-safe-ret", "return-safe-ret")},
    ),
    (
        {"retbleed_return_thunk": (1, 4), "its_return_thunk": (1, 2)},
        SAFE_RET,
        {"thunk": (4, "return-thunk", "return-thunk")},
    ),
    (
        {"__pi___x86_indirect_thunk_rax": (1, 4), "do_it": (1, 2)},
        SAFE_RET,
        {
            "retpoline": (3, "indirect-call-retpoline", "indirect-call-retpoline"),
            "plain to Safe RET": (1, "return", "return-safe-ret"),
        },
    ),
    ({"my_srso_safe_ret_user": (1, 4)}, {}, {"plain": (3, "return", "return")}),
]


@pytest.mark.parametrize(("returns", "mitigations", "expected"), THUNKS)
def test_an_executed_thunk_decides(
    returns: dict[str, tuple[int, int]],
    mitigations: dict[str, str],
    expected: dict[str, tuple[int, str, str]],
    prices: dict[str, Any],
) -> None:
    rows = PricedInventory(inventory(returns), mitigated(**mitigations)).rows
    told = {row.kind: (row.row.changes[0], row.low, row.high) for row in rows}
    assert told.keys() == expected.keys()
    for kind, (delta, low, high) in expected.items():
        change, least, most = told[kind]
        assert change
        assert change.delta == delta
        assert (least, most) == (prices[low]["minimum"], prices[high]["high"])


def test_indirect_branches_are_open_only_without_retpolines(prices: dict[str, Any]) -> None:
    spectre = {"spectre_v2": "Mitigation: Retpolines"}
    calls = item("indirect-calls", 1, 5)
    for returns, high in (
        ({"do_it": (1, 1)}, "indirect-call-retpoline"),
        ({"__x86_indirect_thunk_rax": (1, 1)}, "indirect-call"),
    ):
        (row,) = PricedInventory(inventory(returns, calls), mitigated(**spectre)).rows
        assert (row.low, row.high) == (prices["indirect-call"]["minimum"], prices[high]["high"])


SIZES = [(8, ("64", "64")), (64, ("64", "64")), (100, ("64", "512")), (65536, ("65536",) * 2)]


@pytest.mark.parametrize(("size", "ends"), SIZES)
def test_a_repeated_instruction_costs_by_its_bytes(
    size: int, ends: tuple[str, str], prices: dict[str, Any]
) -> None:
    repeated, bytes_ = item("repeated", 1, 4), item("rep-bytes", 7, 7 + 3 * size)
    made = PricedInventory(inventory({}, repeated, bytes_), mitigated())
    (row,) = made.rows
    both = [[prices[f"{name}-{end}"] for name in ("stosb", "movsb")] for end in ends]
    assert row.low == min(price["minimum"] for pair in both for price in pair)
    assert row.high == max(price["high"] for pair in both for price in pair)
    assert "rep-bytes" in made.without


def test_a_size_that_was_not_measured_has_no_price() -> None:
    rows = item("repeated", 1, 4), item("rep-bytes", 0, 3 << 20)
    assert PricedInventory(inventory({}, *rows), mitigated()).rows == []


def test_the_sentence_names_what_costs_most() -> None:
    """The issue's own example: so many returns through Safe RET."""
    made = PricedInventory(
        inventory({"srso_alias_safe_ret": (5_05, 8_58)}, item("taken-jumps", 0, 10**6)),
        mitigated(**SAFE_RET),
    )
    low, high = made.rows[0].each.split(" to ")
    (sentence,) = made.sentences()
    assert sentence.startswith("new has 35.30 more returns per op: ")
    assert f"cycles at {low} to {high} each (Safe RET, " in sentence
