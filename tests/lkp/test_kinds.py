"""The robot's mails are sorted as their threads ended, as far as their rows can tell."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lkp.robot_mails import NAMES, report, values
from support import ROOT

from profdiff.evidence.lkp.facts import Facts
from profdiff.evidence.lkp.kinds import RULES, Judgement, Kind, judged
from profdiff.evidence.lkp.report import Report
from profdiff.evidence.lkp.slowdown import Slowdown

# What the threads and their fixes say caused them, and what rows of the first mail say.
ENDED: dict[str, Kind] = {
    "0ede61d858": "instructions",
    "1b057bd800": "instructions",
    "1e8017bb42": "lock",
    "4890b686f4": "lock",
    "59faa4da7c": "lock",
    "9bd0e337c6": "instructions",
    "a97fbc3ee3": "lines",
    "06c4d00466": "waiting",
    "875fa64577": "waiting",
    "aaec5a95d5": "waiting",
    "f95bdb700b": "waiting",
}
# What ended otherwise than rows can tell: the thread's kind, the rows' kind, and why.
OTHERWISE: dict[str, tuple[Kind, Kind, str]] = {
    "5df397dec7": (
        "instructions",
        "waiting",
        "pages are flushed in batches of 8: what rows show is the interrupts of each flush",
    ),
    "51d74c18a9": (
        "lock",
        "unknown",
        "waiters take 84% of the cycles on both kernels: who holds the lock longer is not told",
    ),
    "375700bab5": (
        "lock",
        "unknown",
        "the atomic was inlined into its caller, and its share of the profile with it",
    ),
    "57efa1fe59": (
        "lines",
        "unknown",
        "a semaphore's field moved: rows show who waits for it, not why it is held longer",
    ),
    "70a64b7919": (
        "lines",
        "lock",
        "counters share a line: rows show the waiters for the lock under which they are changed",
    ),
}
# Which part of the slowdown instructions are, by the threads' own tables.
SHARES = {
    "4890b686f4": 0.07,
    "1e8017bb42": 0.01,
    "59faa4da7c": 0.13,
    "06c4d00466": 0.08,
    "aaec5a95d5": 0.18,
    "a97fbc3ee3": 0.05,
}


def found(name: str) -> list[Judgement]:
    return judged(Facts.of(report(name)))[0]


def likeliest(name: str) -> Kind:
    return found(name)[0].kind


@pytest.mark.parametrize("name", ENDED)
def test_a_mail_is_sorted_as_its_thread_ended(name: str) -> None:
    assert likeliest(name) == ENDED[name]


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_rows_cannot_tell_is_not_claimed(name: str) -> None:
    ended, rows, why = OTHERWISE[name]
    assert likeliest(name) == rows != ended, why


def test_every_mail_of_a_thread_is_sorted() -> None:
    more = {"0ede61d858-fixed", "7ee9887703-fixed", "98c9daf5ae-fixed", "fefc6e6631"}
    more |= {"8343cae362", "8be7258aad", "db86f55bf8", "e1d3422c95"}
    assert {*NAMES} == {*ENDED, *OTHERWISE, *more}


def test_the_document_has_each_mail_where_it_was_sorted() -> None:
    text = (ROOT / "docs/lkp.md").read_text()
    section = text[text.index("## How it was checked") :]
    said = "more or other", "a contended lock", "data layout", "wake-ups"
    rows = {
        kind: next(line for line in section.splitlines() if line.startswith(f"| {start}"))
        for kind, start in zip(("instructions", "lock", "lines", "waiting"), said, strict=True)
    }
    for name, kind in ENDED.items():
        assert name in rows[kind].split("|")[2]
    for name, (kind, _, _) in OTHERWISE.items():
        assert name in rows[kind].split("|")[3]


@pytest.mark.parametrize(("name", "share"), SHARES.items())
def test_the_share_of_instructions(name: str, share: float) -> None:
    parts = Slowdown.of(report(name).cases[0]).parts
    assert parts is not None
    assert parts.instructions == pytest.approx(share, abs=0.01)
    assert parts.low <= parts.instructions <= parts.high


@pytest.mark.parametrize("name", ["375700bab5", "875fa64577"])
def test_instructions_may_go_the_other_way(name: str) -> None:
    parts = Slowdown.of(report(name).cases[0]).parts
    assert parts is not None and parts.instructions < 0


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("0ede61d858", "will-it-scale.per_thread_ops"),
        ("4890b686f4", "netperf.Throughput_Mbps"),
        ("875fa64577", "vm-scalability.throughput"),
        ("70a64b7919", "will-it-scale.per_process_ops"),
    ],
)
def test_a_split_is_that_of_the_mails_values(name: str, metric: str) -> None:
    """As a line's words have them; parts add up to the change, and their product is the time."""
    slow = Slowdown.of(report(name).cases[0])
    before, after = values(name, metric)
    base, other = values(name, "perf-stat.overall.path-length")
    share = math.log(other / base) / math.log(before / after)
    parts, split = slow.parts, slow.split
    assert parts is not None and split is not None and slow.cpi is not None
    assert parts.cost is not None and parts.rest is not None
    assert parts.instructions == pytest.approx(share)
    assert parts.instructions + parts.cost + parts.rest == pytest.approx(1)
    assert split.time == pytest.approx(before / after)
    assert split.instructions == pytest.approx(other / base)


def test_what_a_thread_says_of_its_slowdown_follows_from_its_rows() -> None:
    """Cycles explain the time of what computes, and not of what waits."""
    for name in ("0ede61d858", "1e8017bb42", "51d74c18a9", "59faa4da7c", "70a64b7919"):
        parts = Slowdown.of(report(name).cases[0]).parts
        assert parts is not None and abs(parts.rest or 0) < 0.05, name
    for name in ("06c4d00466", "875fa64577", "f95bdb700b"):
        parts = Slowdown.of(report(name).cases[0]).parts
        assert parts is not None and (parts.rest or 0) > 0.6, name


def test_another_op_is_told() -> None:
    """1/543 of the ops, of seven times the instructions; but who spins executes many, too."""
    case = report("1b057bd800").cases[0]
    slow = Slowdown.of(case)
    assert slow.time is not None and round(slow.time.value) == 543
    assert found("1b057bd800")[0].another_op
    slow = Slowdown.of(report("e1d3422c95").cases[0])
    assert slow.instructions is not None and slow.instructions.value > 100
    assert [(one.kind, one.another_op) for one in found("e1d3422c95")][:2] == [
        ("unknown", False),
        ("lock", False),
    ]


def test_every_judgement_names_rows_of_the_mail() -> None:
    for name in NAMES:
        cases = report(name).cases
        for one in (one for each in judged(Facts.of(report(name))) for one in each):
            assert one.why
            assert one.rows or one.kind in ("unknown", "mixed")
            assert all(cases[one.case].row(row.metric) == row for row in one.rows)


def test_doubts() -> None:
    """A wide interval is not an answer; a table without instructions gives none."""
    assert Slowdown.of(report("0ede61d858").cases[0]).doubt == ""
    assert Slowdown.of(report("0ede61d858").cases[0]).within_unprinted
    assert "more or less than half" in Slowdown.of(report("8343cae362").cases[0]).doubt
    third = Slowdown.of(report("1e8017bb42").cases[2])
    assert third.doubt == "the interval is wider than the answer"
    slow = Slowdown.of(report("db86f55bf8").cases[0])
    assert slow.time is not None and slow.time.value == pytest.approx(1 - 0.115)
    assert slow.parts is None and "no row of instructions" in slow.doubt


def test_an_improvement_is_what_went_away() -> None:
    """fefc6e6631 undoes 70a64b7919: the same kind, the other way round."""
    slow = Slowdown.of(report("fefc6e6631").cases[0])
    assert slow.time is not None and slow.time.value < 1
    assert likeliest("fefc6e6631") == likeliest("70a64b7919")


def test_a_kind_has_a_rule() -> None:
    assert {rule.kind for rule in RULES} == {"instructions", "lock", "lines", "layout", "waiting"}


def table(rows: list[str], more: str = "", *, parameters: str = "x/100%/will-it-scale") -> str:
    """A mail with a table of these rows, which lost half of its ops, and ``more`` tables."""
    return "\n".join(
        [
            "kernel test robot noticed a -50.0% regression of will-it-scale.per_process_ops on:",
            "",
            'commit: 1111111111 ("b")',
            "test machine: 100 threads",
            *more.splitlines(),
            "",
            "test/nr_task/testcase:",
            f"  {parameters}",
            "",
            "commit:",
            '  0000000000 ("a")',
            '  1111111111 ("b")',
            "",
            "0000000000 1111111111",
            "---------- ----------",
            "  100.0  -50.0%  50.0  will-it-scale.per_process_ops",
            *rows,
            "",
        ]
    )


def kinds_of(text: str) -> list[Judgement]:
    return judged(Facts.of(Report.read("", text)))[0]


def profile(function: str, before: float, after: float) -> str:
    numbers = f"{before:.2f}  {after - before:+.1f}  {after:.2f}"
    return f"  {numbers}  perf-profile.self.cycles-pp.{function}"


SPIN, MUTEX = "native_queued_spin_lock_slowpath", "osq_lock"
CPI = [
    "  2e10  -50.0%  1e10  perf-stat.ps.instructions",
    "  1.0  +100.0%  2.0  perf-stat.overall.cpi",
]
_SHARES = st.floats(0, 20)


@given(st.floats(60, 90), _SHARES, _SHARES)
def test_waiters_that_fell_are_not_added(after: float, before: float, rest: float) -> None:
    """Fewer waiters for one lock hide no atomic that became contended."""
    rows = [profile("page_counter_try_charge", before, after), profile(SPIN, 2 * rest + 9, 1)]
    assert kinds_of(table([*CPI, *rows]))[0].kind == "lock"


@given(st.floats(55, 90), st.floats(0, 10))
def test_who_spins_for_a_mutex_is_a_candidate(after: float, before: float) -> None:
    """Its holder may wait; of a spinlock, nobody does."""
    found = kinds_of(table([*CPI, profile(MUTEX, before, after)]))
    assert [one.kind for one in found][:2] == ["unknown", "lock"]
    assert kinds_of(table([*CPI, profile(SPIN, before, after)]))[0].kind == "lock"


@given(st.floats(0.01, 0.99))
def test_who_uses_less_than_a_processor_contends_with_nobody(used: float) -> None:
    numbers = f"{100 * used:.2f}  -1.0%  {99 * used:.2f}"
    job = f"  {numbers}  will-it-scale.time.percent_of_cpu_this_job_got"
    found = kinds_of(table([*CPI, job, profile(SPIN, 1, 80)]))
    assert "lock" not in {one.kind for one in found}


@given(st.integers(1, 20))
def test_rules_do_not_mask_each_other(times: int) -> None:
    """What waits for disks is first, and the lock is still told."""
    disk = f"  {times:.2f}  {9 * times:+.1f}  {10 * times:.2f}  mpstat.cpu.all.iowait%"
    found = kinds_of(table([*CPI, disk, profile(SPIN, 1, 80)]))
    assert [one.kind for one in found][:2] == ["waiting", "lock"]
    assert all(one.rows for one in found)


@given(each=st.integers(10, 900), rare=st.booleans())
def test_rare_switches_are_not_waiting(*, each: int, rare: bool) -> None:
    """Those of 100 busy processors."""
    rate = 100 * each if rare else 100 * (each + 1000)
    found = kinds_of(table([*CPI, f"  {rate / 2:.1f}  +100.0%  {rate}  vmstat.system.cs"]))
    assert ("waiting" in {one.kind for one in found}) is not rare


def test_a_hundred_times_as_long_is_another_op_only_with_other_instructions() -> None:
    """A longest wait is not another op."""
    row = "  10.0  +99900.0%  10000.0  dbench.max_latency"
    text = table([row]).replace("will-it-scale.per_process_ops", "dbench.max_latency", 1)
    assert not kinds_of(text)[0].another_op


def test_tables_inform_each_other_only_of_what_they_cannot_have() -> None:
    """A lock by the profile that this one lacks; not of another test's processors."""
    other = table([*CPI, profile(SPIN, 1, 80)])
    assert [one.kind for one in kinds_of(table(CPI, other))] == ["lock"] * 1
    busy = "  9000.0  -80.0%  1800.0  will-it-scale.time.percent_of_cpu_this_job_got"
    found = judged(Facts.of(Report.read("", table(CPI, table([busy])))))
    assert {one[0].kind for one in found} == {"waiting", "unknown"}
    silent = next(one for one in found if one[0].kind == "unknown")
    assert [one.kind for one in silent] == ["unknown", "waiting"]


@given(st.text(max_size=300), st.text(max_size=40))
def test_prose_names_no_kind(prose: str, cause: str) -> None:
    """It is quoted, and changes no judgement."""
    said = f"The regression is caused by false sharing {cause}."
    plain = kinds_of(table(CPI))
    told = Report.read("", f"{said}\n\n{table(CPI)}")
    assert [one.kind for one in judged(Facts.of(told))[0]] == [one.kind for one in plain]
    assert Report.read("", f"It is caused by false sharing.\n\n{table(CPI)}").remarks == [
        "It is caused by false sharing."
    ]


def test_what_the_robot_writes_is_no_remark() -> None:
    """Titles of commits and its own lines name causes, too."""
    lines = [
        'commit: 1234567890ab ("mm: reduce lock contention in faults")',
        "url: https://git.example.org/linux.git lock-contention",
        "test machine: 96 threads, probably busy",
        "Subject: [mm] 1234567890ab: false sharing",
    ]
    assert Report.read("", "\n".join([*lines, "", table(CPI)])).remarks == []
