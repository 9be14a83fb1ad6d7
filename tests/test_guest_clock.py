"""What a guest's clock counts is never called time."""

import pytest
from synthetic_experiment import ICOUNT, recorded

from profdiff.base import guest_clock
from profdiff.base.metric import Metric
from profdiff.recording.run import outcome
from profdiff.session import manifest as m


@pytest.mark.parametrize(
    ("unit", "counted"),
    [
        ("ns", "instructions (guest clock)"),
        ("ns/call", "instructions/call (guest clock)"),
        ("us", "thousand instructions (guest clock)"),
        ("ms/page", "million instructions/page (guest clock)"),
        ("s", "billion instructions (guest clock)"),
        ("ops/s", "ops/billion instructions (guest clock)"),
        ("mincore_ns/1k_pages", "instructions/1k_pages (guest clock)"),
    ],
)
def test_units(unit: str, counted: str) -> None:
    found = guest_clock.counted(Metric("nsec_per_call", unit, "higher"))
    assert found == Metric("nsec_per_call", counted, "higher")
    assert guest_clock.is_instructions(found) == (not unit.startswith("ops"))
    # Once is enough.
    assert guest_clock.counted(found) == found


@pytest.mark.parametrize(
    "unit", ["", "%", "instructions", "KiB", "faults/op", "ns2", "1k_pages", "bytes/ops"]
)
def test_what_is_no_time_stays(unit: str) -> None:
    metric = Metric("m", unit)
    assert guest_clock.counted(metric) is metric
    assert not guest_clock.is_instructions(metric)


def test_the_time_of_the_whole_command_is_none() -> None:
    found = guest_clock.counted(Metric("wall-time", "ns"))
    assert found.name == "whole-command"
    assert guest_clock.is_whole_command(found)
    assert found.title == "whole-command (instructions, guest clock)"
    assert guest_clock.per_op(found.unit) == "instructions per op (guest clock)"
    assert guest_clock.per_op("ns") == "ns per op"


@pytest.mark.parametrize(
    ("qemu", "said"),
    [
        (ICOUNT, "whole-command 5,000 instructions (guest clock) (1.0 s)"),
        (m.replace(ICOUNT, virtual_clock=False), "wall-time 5,000 ns (1.0 s)"),
        (None, "wall-time 5,000 ns (1.0 s)"),
    ],
)
def test_what_record_says_of_a_run(qemu: m.Qemu | None, said: str) -> None:
    (run,) = recorded({"base": [[[5000.0]]]}, qemu=qemu, name="wall-time").runs
    assert outcome(run) == said
