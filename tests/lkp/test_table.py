"""Tables of the robot's are read as they were written, in whatever way they travelled."""

import math
from email.message import EmailMessage

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lkp import robot_table
from lkp.robot_mails import MAILS, NAMES, received, report, values

from profdiff.base.errors import InputError
from profdiff.evidence.lkp.report import Report, Table, tables
from profdiff.mail.thread import ReceivedMail


def read(lines: list[str]) -> Table:
    (found,) = tables(lines)
    return found


def test_the_parts_of_a_mail() -> None:
    found = report("59faa4da7c")
    assert found.commit == "59faa4da7cd4565cbce25358495556b75bb37022"
    assert found.subject == "maple_tree: use percpu sheaves for maple_node_cache"
    assert found.tree == "https://git.kernel.org/cgit/linux/kernel/git/torvalds/linux.git"
    assert found.machine.startswith("192 threads 2 sockets Intel(R) Xeon(R) Platinum 8468V")
    (case,) = found.cases
    assert (case.metric, case.word, case.column) == (
        "will-it-scale.per_process_ops",
        "regression",
        1,
    )
    told = case.table.parameters
    assert (told["testcase"], told["test"], told["mode"]) == ("will-it-scale", "brk1", "process")
    assert case.table.heads == ["3accabda4da1b00b", "59faa4da7cd4565cbce25358495"]
    assert [one.name for one in case.table.revisions] == ["3accabda4d", "59faa4da7c"]
    assert case.table.revisions[0].subject == "mm, vma: use percpu sheaves for vm_area_struct cache"


def test_a_row() -> None:
    case = report("59faa4da7c").cases[0]
    row = case.row("perf-c2c.HITM.total")
    assert row is not None and not row.in_points
    assert [(one.value, one.spread) for one in row.means] == [(3535, 0.15), (7465, 0.15)]
    assert row.changes == [111.2]
    row = case.row("mpstat.cpu.all.soft%")
    assert row is not None and row.in_points and row.changes == [-7.4]
    row = case.row("perf-stat.total.instructions")
    assert row is not None and [one.value for one in row.means] == [1.217e14, 9.963e13]
    row = report("4890b686f4").cases[0].row("sched_debug.cfs_rq:/.spread0.min")
    assert row is not None and [one.value for one in row.means] == [-491914, -184050]


def test_three_columns_have_the_reported_one_in_the_middle() -> None:
    case = report("0ede61d858-fixed").cases[0]
    assert len(case.table.heads) == 3
    row = case.row("will-it-scale.per_thread_ops")
    assert row is not None
    assert [one.value for one in row.means] == [399440, 388036, 412848]
    assert row.changes == [-2.9, 3.4]
    assert case.column == 1


def test_failed_runs_are_no_metrics() -> None:
    case = report("06c4d00466").cases[0]
    found = {one.name: (one.failed, one.runs) for one in case.table.failures}
    assert found["dmesg.RIP:cpuidle_enter_state"] == ([0, 4], [4, 4])
    assert not any(name.startswith("dmesg") for name in case.table.rows)


def test_further_tests_have_their_own_metric() -> None:
    cases = report("1e8017bb42").cases
    assert [one.metric for one in cases] == [
        "netperf.Throughput_tps",
        "lmbench3.AF_UNIX.sock.stream.bandwidth.MB/sec",
        "lmbench3.TCP.socket.bandwidth.64B.MB/sec",
    ]
    assert {one.word for one in cases} == {"regression"}


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_lost(name: str) -> None:
    """What has a row's numbers is a row, and its first values are the line's words."""
    cases = report(name).cases
    text = (MAILS / f"{name}.eml").read_text()
    metrics = [row for case in cases for row in case.table.rows]
    lines = [line for line in text.splitlines() if "%change" not in line and "fail:" not in line]
    rows = [line for line in lines if line.lstrip("> ")[:1].isdigit() or " -491914" in line]
    rows = [line for line in rows if "  " in line and ("%" in line or "perf-" in line)]
    assert len(metrics) >= len([line for line in rows if ":4 " not in line]) - 3
    first = next(iter(cases[0].table.rows.values()))
    assert (first.means[0].value, first.means[1].value) == values(name, first.metric)


_VALUES = st.just(0.0) | st.floats(0.01, 1e12)
_ROW_NAMES = st.from_regex(r"[a-z][\w.:-]{0,40}(?:%|\(x\))?", fullmatch=True)


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_any_numbers_read_back(data: st.DataObject) -> None:
    kernels = data.draw(st.integers(2, 5))
    labels = [f"kernel-{number}" for number in range(kernels)]
    runs = st.lists(_VALUES, min_size=1, max_size=4)
    rows = [
        robot_table.Row(name, data.draw(st.lists(runs, min_size=kernels, max_size=kernels)))
        for name in data.draw(st.lists(_ROW_NAMES, min_size=1, max_size=8, unique=True))
    ]
    found = read(["", *robot_table.table(labels, rows)])
    assert found.heads == labels
    assert {*found.rows} == {row.name for row in rows}
    for row in rows:
        again = found.rows[row.name]
        for runs_, mean, cell in zip(row.values, row.means, again.means, strict=True):
            assert mean is not None
            # Small ones have two decimals, large ones four digits, others none.
            assert cell.value == pytest.approx(mean, abs=1 if mean < 1e8 else mean * 1e-3)
            if cell.spread is not None:
                spread = math.sqrt(sum((one - mean) ** 2 for one in runs_) / len(runs_)) / mean
                assert cell.spread == pytest.approx(spread, abs=0.011)


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "latin", "html", "quoted"])
@pytest.mark.parametrize("name", ["59faa4da7c", "0ede61d858-fixed", "06c4d00466"])
def test_how_a_mail_travelled_does_not_matter(name: str, encoding: str) -> None:
    mail = received(name)
    text = mail.text() or ""
    made = EmailMessage()
    made["Subject"] = mail.value("Subject")
    made["Message-ID"] = mail.value("Message-ID")
    if encoding == "latin":
        made.set_content(text, charset="iso-8859-1", cte="quoted-printable")
    elif encoding == "html":
        made.set_content(text, cte="base64")
        made.add_alternative("<p>1 +1.0% 2 x.y</p>", subtype="html")
        made.add_attachment(b"job", maintype="application", subtype="x-yaml")
    elif encoding == "quoted":
        made.set_content("".join(f"> > {line}\n" for line in text.splitlines()), cte="8bit")
    else:
        made.set_content(text, cte=encoding)
    again = ReceivedMail.of(made.as_bytes())
    assert again is not None
    expected = report(name)
    found = Report.read(again.value("Subject"), again.text() or "")
    assert found == expected


def test_a_table_that_is_cited_first_is_not_the_mails() -> None:
    """Rows before the mail's own, another sign, and other blanks."""
    mail = received("59faa4da7c")
    text = (mail.text() or "").replace("±", "ą").replace("  ", " \N{NO-BREAK SPACE}")
    cited = "a b\n---------- ----------\n   45.17 ą 18%  +404.8%  228.00 ą 21%  perf-c2c.x\n\n"
    assert Report.read(mail.value("Subject"), cited + text) == report("59faa4da7c")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "a b\n---------- ----------\n",
        "a b\n---------- ----------\n  one  two\n",
        "----------- -----------\n 1 +1.0% 2 x\n",
    ],
)
def test_a_mail_without_a_table_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no table of the 0-day robot's"):
        Report.read("Re: x", text)


def test_bounds() -> None:
    """Many tables, many columns, many rows, and long names cost neither time nor memory."""
    head = ["a b", "---------- ----------"]
    row = "  1.0   +1.0%   2.0   x.y"
    assert len(tables([*head, row, ""] * 1_000)) == 32
    wide = " ".join("a" for _ in range(100)), " ".join("-" * 10 for _ in range(100))
    assert tables([*wide, row]) == []
    found = read([*head, *(f"  1.0   +1.0%   2.0   x.{number}" for number in range(50_000))])
    assert len(found.rows) == 20_000
    found = read([*head, f"{row}{'z' * 1_000}"])
    assert max(map(len, found.rows)) == 300
    assert tables([*head, f"{row}{'z' * 5_000}"]) == []
    assert tables([*head, "  1e999   +1.0%   2.0   x.y"]) == []
