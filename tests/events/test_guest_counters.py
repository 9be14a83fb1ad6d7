"""Events against what the guest's own kernel counts, read by the workload around its marks."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from support import profdiff

from profdiff.evidence.findings import LazyFindings
from profdiff.session.session import Session
from profdiff.shapes.table import Cell
from profdiff.topics.registry import TOPICS

pytestmark = pytest.mark.guest

KERNELS = ("old", "new", "newest")
TIMES = 40
# What the guest counts between reading its counters and the marks.
OUTSIDE = 3


@cache
def events(session: Path, what: str) -> list[dict[str, Cell]]:
    """Those at a point: a row for each event, context and kernel."""
    section = TOPICS["events"].section(
        LazyFindings.of(Session.open(session), f"what={what}").findings
    )
    return [row for table in section.tables for row in table.by_row_and_kernel()]


def counted(session: Path, what: str, label: str) -> dict[str, int]:
    """By event, those of the workload, and ``event outside`` outside of it."""
    return {
        str(row["event"]) if row["context"] == "own" else f"{row['event']} outside": count
        for row in events(session, what)
        if row["kernel"] == label and isinstance(count := row["count"], int)
    }


def told(folder: Path, what: str, label: str) -> Mapping[str, int]:
    """What the workload printed of the guest's counters."""
    session = Session.open(folder)
    (run,) = (
        run
        for run in session.manifest.runs
        if run.kernel == label and session.manifest.points[run.point].parameters["what"] == what
    )
    lines = (session.read(run, "stdout") or b"").decode().splitlines()
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.mark.parametrize("label", KERNELS)
def test_a_page_that_is_touched_first_is_a_fault(happened: Path, label: str) -> None:
    found, guest = counted(happened, "faults", label), told(happened, "faults", label)
    assert found["page-faults"] == found["faults-handled"] == TIMES
    assert 0 <= guest["own-minflt"] - TIMES <= OUTSIDE
    assert TIMES <= found["page-allocations"] <= TIMES + OUTSIDE
    assert found["tlb-flushes"] == found["futex-waits"] == found["reclaims"] == 0


@pytest.mark.parametrize("label", KERNELS)
def test_a_breakpoint_is_an_exception(happened: Path, label: str) -> None:
    found, guest = counted(happened, "traps", label), told(happened, "traps", label)
    assert found["exceptions"] == guest["own-signals"] == TIMES
    assert found["page-faults"] <= OUTSIDE
    assert not counted(happened, "faults", label)["exceptions"]


@pytest.mark.parametrize("label", KERNELS)
def test_threads_that_hand_over_by_a_futex_switch(happened: Path, label: str) -> None:
    found, guest = counted(happened, "futexes", label), told(happened, "futexes", label)
    assert abs(found["context-switches"] - (guest["own-nvcsw"] + guest["own-nivcsw"])) <= OUTSIDE
    assert abs(found["blocks"] - guest["own-nvcsw"]) <= OUTSIDE
    assert abs(found["futex-waits"] - guest["own-nvcsw"]) <= OUTSIDE
    # One to hand over, by each thread.
    assert abs(found["futex-wakes"] - 2 * TIMES) <= OUTSIDE
    # Some futexes have changed before the kernel looks at them.
    others = found["system-calls"] - found["futex-waits"] - found["futex-wakes"]
    assert 0 <= others <= OUTSIDE


@pytest.mark.parametrize("label", KERNELS)
def test_threads_that_talk_through_a_pipe_switch(happened: Path, label: str) -> None:
    found, guest = counted(happened, "pipes", label), told(happened, "pipes", label)
    assert abs(found["context-switches"] - 2 * TIMES) <= OUTSIDE
    assert abs(found["context-switches"] - (guest["own-nvcsw"] + guest["own-nivcsw"])) <= OUTSIDE
    assert abs(found["blocks"] - guest["own-nvcsw"]) <= OUTSIDE
    # Each reads once and writes once.
    assert abs(found["system-calls"] - 4 * TIMES) <= OUTSIDE


@pytest.mark.parametrize("label", KERNELS)
def test_an_unmapped_page_is_flushed_on_both_vcpus(happened: Path, label: str) -> None:
    found, guest = counted(happened, "unmaps", label), told(happened, "unmaps", label)
    assert found["tlb-flushes"] == found["tlb-flushes-remote"] == TIMES
    assert found["tlb-flushes-done"] == found["tlb-pages"] == TIMES
    # Those that reached the other vCPU: its kernel counts them, too.
    received = found["tlb-flushes-done outside"]
    assert received == found["tlb-pages outside"] == guest["irq-TLB"] > 0
    assert found["ipi-call-function"] == received


@pytest.mark.parametrize("what", ["futexes", "pipes", "unmaps"])
@pytest.mark.parametrize("label", KERNELS)
def test_interrupts_and_softirqs_are_those_of_the_guest(
    happened: Path, label: str, what: str
) -> None:
    found, guest = counted(happened, what, label), told(happened, what, label)
    kinds = {
        "interrupt-reschedule": "irq-RES",
        "interrupt-call-function": "irq-CAL",
        "softirq-timer": "softirq-TIMER",
        "softirq-sched": "softirq-SCHED",
        "softirq-hrtimer": "softirq-HRTIMER",
    }
    for event, name in kinds.items():
        assert 0 <= guest[name] - found[f"{event} outside"] <= OUTSIDE, event
    # Ticks come while the workload reads and writes the counters, too.
    for event, name in (("interrupt-timer", "irq-LOC"), ("softirq-rcu", "softirq-RCU")):
        assert 0 <= guest[name] - found[f"{event} outside"] <= 7 * OUTSIDE, event
    vectors = ("timer", "reschedule", "call-function", "irq-work", "device")
    whole = sum(found[f"interrupt-{kind} outside"] for kind in vectors)
    assert found["interrupts outside"] == whole
    assert found["ipi"] == found["ipi-reschedule"] + found["ipi-call-function"]


def test_what_a_kernel_lacks_is_not_known(happened: Path) -> None:
    """The fixture kernels have no network."""
    for row in events(happened, "unmaps"):
        lacking = str(row["event"]).startswith("softirq-net")
        assert (row["functions"] is None) == lacking, row["event"]
        assert row["looked up"] is (None if lacking else True)
        if lacking:
            assert row["count"] is row["delta"] is None


def test_a_condition_on_an_event(happened: Path) -> None:
    at = ["--at", "what=faults"]
    said = profdiff("check", happened, *at, "--fail-if", "events:page-faults > +0").stdout
    assert said.count("passes: events:page-faults > +0") == 2
    failing = ["--fail-if", "events:page-faults >= +0/op"]
    assert profdiff("check", happened, *at, *failing, status=1).stdout.count("fails") == 2
    network = ["--fail-if", "events:softirq-net-rx > +0"]
    said = profdiff("check", happened, *at, *network, status=125).stdout
    assert "softirq-net-rx is not known of old and new" in said


def test_the_first_sentences_name_what_changed_more_than_instructions(happened: Path) -> None:
    """Since v6.18, mmap() and munmap() free nodes of the maple tree by kvfree_call_rcu()."""
    found = {label: counted(happened, "maps", label)["rcu-frees"] for label in KERNELS}
    assert found["old"] == 0
    assert min(found["new"], found["newest"]) >= TIMES
    at = ["--at", "what=maps"]
    told = f"new has {found['new'] / TIMES:.2f} rcu-frees per op where old has 0.00"
    first = profdiff("report", happened, *at).stdout.split("\n\n")[0]
    assert told in " ".join(first.split())
    assert told in profdiff("report", happened, "--events", *at, "--width", "140").stdout
    letter = profdiff("mail", happened, *at).stdout
    assert "Events of the kernel that changed" in letter
    assert "rcu-frees" in letter.split("Events of the kernel that changed")[1]
    without = profdiff("mail", happened, *at, "--without", "events").stdout
    assert "Events of the kernel that changed" not in without
    failing = ["--fail-if", "events:rcu-frees > +0"]
    assert "new, 0 to " in profdiff("check", happened, *at, *failing, status=1).stdout


def test_where_none_did_nothing_names_one(happened: Path) -> None:
    at = ["--at", "what=faults"]
    assert "page-faults per op" not in profdiff("report", happened, *at).stdout
    assert "Events of the kernel" not in profdiff("mail", happened, *at).stdout
