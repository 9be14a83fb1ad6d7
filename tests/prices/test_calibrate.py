"""``profdiff calibrate``: its program on this processor and an emulated one, and what is made of
its lines."""

import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from goldens import check_schema
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, need_program, profdiff

from profdiff.collectors.architecture import ARM64, host
from profdiff.collectors.calibration import CALIBRATE
from profdiff.collectors.calibration.measure import ITEMS, level_sizes, measure, prices_of
from profdiff.collectors.calibration.prices import TOLD, Price, Prices, encoded, read_prices
from profdiff.views.record import schema_of

# Disturbances that last for all rounds of a block are rare, but a neighbour can make one.
TRIES = 5
LEVELS = {"l1": 1 << 14, "memory": 1 << 26}


@pytest.fixture(scope="module")
def minima() -> dict[str, float]:
    """The lowest price of each operation in a few calibrations: what disturbs one passes."""
    if not any(one.is_host for one in CALIBRATE.architectures):
        pytest.skip("calibrate is written for x86-64 and arm64")
    found: dict[str, float] = {}
    for _ in range(TRIES):
        for price in measure(rounds=10).prices:
            found[price.name] = min(price.minimum, found.get(price.name, math.inf))
    return found


@pytest.mark.build
@pytest.mark.slow
def test_prices_are_in_their_order(minima: dict[str, float]) -> None:
    """What no processor does otherwise, whatever else the machine does."""
    for order in (
        ("load-l1", "load-l2", "load-memory"),
        ("jump", "misprediction", "syscall", "fault-write"),
        ("load-l1", "fault-read", "fault-copy"),
        ("indirect-call", "syscall"),
    ):
        assert [*order] == sorted(order, key=minima.__getitem__), minima
    # Atomic instructions on a line that is here, and division: tens of cycles.
    for name in ("locked-add", "locked-xchg", "locked-cmpxchg", "division-32", "division-64"):
        assert 1 <= minima[name] <= 200, name
    assert 3 <= minima["load-l1"] <= 10
    assert minima["locked-among-adds"] <= minima["locked-xchg"] + 5


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.skipif(host().arch != "x86_64", reason="thunks are for x86-64")
def test_thunks_cost_what_they_mispredict(minima: dict[str, float]) -> None:
    """The returns of Safe RET and of a retpoline are always mispredicted."""
    # A jump that is predicted can hide behind its return: a fiftieth is noise.
    assert minima["return"] < 1.02 * minima["return-thunk"]
    assert minima["return-thunk"] < minima["return-safe-ret"]
    assert minima["return-safe-ret"] > minima["return"] + minima["misprediction"] / 3
    assert minima["indirect-call-retpoline"] > minima["indirect-call"] + 5
    assert minima["indirect-jump-retpoline"] > minima["indirect-jump"] + 5
    assert minima["movsb-64"] < minima["movsb-65536"]
    assert minima["stosb-512"] < minima["stosb-65536"]


@pytest.mark.build
def test_the_program_for_arm64_under_an_emulator() -> None:
    """Times of an emulator mean nothing: its lines have their form, and its instructions exist."""
    emulator = need_program("qemu-aarch64-static", "qemu-user-static")
    command = [emulator, CALIBRATE.find(ARM64), "2", "16384", str(1 << 26)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    prices = prices_of(filter(None, lines), LEVELS)
    names = {price.name for price in prices.prices}
    assert {"locked-add", "exclusive-add", "dmb", "dsb", "isb", "yield", "return"} <= names
    assert not {"cpuid", "return-safe-ret", "stosb-64"} & names
    assert {price.samples for price in prices.prices} == {2}


@pytest.mark.build
@pytest.mark.parametrize(
    "words", [[], ["0"], ["x"], ["2", "5000"], ["2", "64"], ["2", *"1234567890"]]
)
def test_the_program_refuses_other_words(words: list[str]) -> None:
    done = subprocess.run(
        [CALIBRATE.find(host()), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.build
@pytest.mark.slow
def test_the_command_writes_what_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    shown = profdiff("calibrate", "-o", file, "--width", "120").stdout
    prices = read_prices(file)
    assert prices.title in shown
    for price in prices.prices:
        assert TOLD[price.name] in shown
    assert "Independent code" in shown
    assert ("Noisy: " in shown) == any(price.noisy for price in prices.prices)
    schema = json.loads((ROOT / "profdiff/prices.schema.json").read_text())
    jsonschema.validate(json.loads(file.read_text()), schema)
    flags = Path("/proc/cpuinfo").read_text()
    if host().arch == "x86_64":
        assert bool(prices.hypervisor) == (" hypervisor " in flags)


def test_the_schema_is_that_of_the_records() -> None:
    schema = schema_of(Prices, "Prices of operations, profdiff calibrate -o FILE")
    check_schema(ROOT / "profdiff/prices.schema.json", schema, "prices")


def test_prices_that_are_shipped_can_be_read() -> None:
    files = sorted((ROOT / "examples/prices").glob("*.json"))
    assert files
    for file in files:
        prices = read_prices(file)
        assert {price.name for price in prices.prices} <= TOLD.keys()
        assert encoded(prices) == file.read_bytes()


def test_every_price_has_words() -> None:
    assert {item.name for item in ITEMS} | {
        f"load-{level}" for level in ("l1", "l2", "l3", "memory")
    } == {*TOLD}


numbers = st.floats(0.001, 1e6)


def lines_of(samples: dict[str, list[float]], cycle: float, rounds: int) -> Iterator[str]:
    for number in range(rounds):
        for name, values in samples.items():
            yield f"{name} {cycle:.9f} {values[number] * cycle:.9f}\n"


@given(st.data(), st.integers(1, 8), st.floats(0.1, 10))
def test_prices_are_quantiles_in_cycles(data: st.DataObject, rounds: int, cycle: float) -> None:
    """Whatever a cycle takes; what is subtracted leaves no price below nothing."""
    values = st.lists(numbers, min_size=rounds, max_size=rounds)
    names = ("locked-add", "call-return", "indirect-call-return", "load-16384", "load-67108864")
    samples = {name: data.draw(values) for name in names}
    made = prices_of(lines_of(samples, cycle, rounds), LEVELS).by_name
    assert made.keys() == {"locked-add", "return", "indirect-call", "load-l1", "load-memory"}
    for name, block in (("locked-add", "locked-add"), ("load-l1", "load-16384")):
        ordered = sorted(samples[block])
        assert made[name].minimum == pytest.approx(ordered[0], rel=1e-3, abs=1e-5)
        assert made[name].minimum <= made[name].median <= made[name].high
        assert made[name].high <= ordered[-1] * 1.001 + 1e-5
    more = min(samples["indirect-call-return"]) - min(samples["call-return"])
    assert made["indirect-call"].minimum == pytest.approx(max(more, 0), rel=1e-3, abs=1e-2)
    assert made["load-memory"].size == 1 << 26


def test_a_disturbed_chain_does_not_make_an_operation_cheap() -> None:
    lines = [f"{name} 1.0 20.0" for name in ("locked-add", "load-16384", "load-67108864") * 9]
    lines[12] = "locked-add 500.0 20.0"
    (price, *_) = prices_of(lines, LEVELS).prices
    assert (price.minimum, price.high) == (20, 20)


caches = st.integers(12, 32).map(lambda power: 1 << power)


@given(st.dictionaries(st.integers(1, 3), caches))
def test_levels_have_memory_of_their_own(sizes: dict[int, int]) -> None:
    found = level_sizes(sizes)
    order = [found[name] for name in ("l1", "l2", "l3", "memory") if name in found]
    assert order == sorted(set(order))
    assert all(size & (size - 1) == 0 and 4096 <= size <= 1 << 29 for size in order)
    if "memory" in found:
        assert found["memory"] >= 2 * max(sizes.values(), default=0)


def test_the_levels_of_a_processor() -> None:
    found = level_sizes({1: 32 << 10, 2: 512 << 10, 3: 32 << 20})
    assert found == {"l1": 16 << 10, "l2": 128 << 10, "l3": 4 << 20, "memory": 64 << 20}


@pytest.mark.parametrize(("high", "noisy"), [(20.0, False), (22.9, False), (23.1, True)])
def test_what_is_noisy(high: float, noisy: bool) -> None:
    price = Price(name="return", samples=9, minimum=20.0, median=20.0, high=high)
    assert price.noisy == noisy
