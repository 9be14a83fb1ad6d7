"""The lines that change hands between vCPUs, in a mail."""

import re
from pathlib import Path

import made_sharing as made
import pytest
from goldens import check_golden
from made_accesses import Site
from made_sharing import OPS, MadeLine, On
from shared_file import BOTH, FREED, HEAP, LAYOUTS, MASK, kernels
from support import ROOT, error_line, profdiff
from synthetic_session import exact_session

from profdiff.base import units
from profdiff.mail.letter import LINES
from profdiff.mail.tables import WIDTH

SENDER = ("--from", "Riley <riley@example.org>", "--to", "list@example.org")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A session that recorded nothing but shared lines."""
    made.session(tmp_path / "made.profdiff", kernels(), LAYOUTS)
    return tmp_path / "made.profdiff"


def body(folder: Path, *options: str) -> str:
    """The mail's text."""
    return profdiff("mail", folder, *SENDER, *options).stdout.partition("\n\n")[2]


def table(said: str) -> list[list[str]]:
    """The rows of the table of lines, its sums too."""
    lines = said[said.index("Lines that change hands") :].split("\n\n")[0].splitlines()
    start = next(at for at, line in enumerate(lines) if line.endswith("  data"))
    return [
        re.split(r"  +", line.strip()) for line in lines[start + 1 :] if not line.startswith("--")
    ]


def bounded(said: str) -> list[str]:
    """What counts for the length of a mail."""
    return said[: said.index("How to reproduce:")].rstrip("\n").split("\n")


def test_where_nothing_else_is_recorded_the_lines_are_the_result(recorded: Path) -> None:
    said = body(recorded)
    check_golden(
        ROOT / "tests/mail/sharing.txt", "\n".join(bounded(said)) + "\n", "tests/mail -k lines"
    )
    plain = " ".join(said.split())
    assert "2.15 lines change hands per operation on base, 2.15 on new;" in plain
    assert "This counts transfers, not time." in plain
    assert "They are not times: what one costs, only hardware tells." in plain
    assert "on base its line also has file.f_mode, file.f_op" in plain
    # Somebody who repeats it types this.
    assert "How to reproduce:\n  profdiff record" in said
    # The lines say more than the table of metrics.
    assert "coherence-misses" not in said
    # Asked for, it is there once.
    assert bounded(body(recorded, "--sharing")) == bounded(said)


def test_sums_are_those_of_the_kernels(recorded: Path) -> None:
    rows = table(body(recorded))
    for column, (lines,) in enumerate(kernels().values()):
        whole = sum(one.transfers for one in lines) / OPS
        assert float(rows[-1][column]) == whole
        assert sum(float(row[column]) for row in rows[:-1]) == pytest.approx(whole)
    assert rows[0][:3] == ["1.00", "0.00", "-1.00"] and rows[0][-1] == "file.f_count"


def test_the_result_can_be_left_out(recorded: Path) -> None:
    assert "Lines that change hands" not in body(recorded, "--without", "result")


def test_a_long_table_stays_in_the_mail(tmp_path: Path) -> None:
    """A few rows, of 75 columns, in 60 lines."""
    long = "a_member_with_a_long_name.and_one_more_below_it.value"
    sites = [
        Site(f"{long}_{n}", 1, f"a_long_name_of_a_function_{n}" * 3, does=BOTH, type=f"type_{n}")
        for n in range(40)
    ]
    lines = [
        MadeLine(HEAP + 64 * n, [On(site, vcpu, 0, store=True, misses=3) for vcpu in (0, 1)])
        for n, site in enumerate(sites)
    ]
    made.session(tmp_path / "many.profdiff", {"base": [lines], "new": [lines]})
    said = body(tmp_path / "many.profdiff")
    assert len(bounded(said)) <= LINES
    assert all(units.width(line) <= WIDTH for line in bounded(said))
    rows = table(said)
    assert rows[-2][-1] == "34 smaller rows" and rows[-1][-1] == "all lines"
    names = [row[-1] for row in rows[:-2]]
    assert len(set(names)) == len(names) == 6


def test_one_kernel_and_three(tmp_path: Path) -> None:
    made.session(tmp_path / "one.profdiff", {"base": kernels()["base"]}, LAYOUTS)
    said = body(tmp_path / "one.profdiff")
    assert table(said)[0][:2] == ["1.00", "2.00"]
    three = {**kernels(), "third": kernels()["base"]}
    made.session(tmp_path / "three.profdiff", three, LAYOUTS)
    assert "2.15 on third" in " ".join(body(tmp_path / "three.profdiff").split())


def test_where_nothing_changes_hands_a_sentence_says_it(tmp_path: Path) -> None:
    made.session(tmp_path / "none.profdiff", {"base": [[]], "new": [[]]})
    said = body(tmp_path / "none.profdiff")
    assert "No line of the cache changes hands between vCPUs" in said
    assert "Lines that change hands" not in said


def test_names_of_strangers_are_no_orders(tmp_path: Path) -> None:
    """To git send-email, to a terminal, or to a reader."""
    site = MASK._replace(path="Cc: victim@example.org\n", function="\x1b[2J\u202e", type="#regzbot")
    on = [On(site, vcpu, 0, store=True, misses=3) for vcpu in (0, 1)]
    on.append(On(FREED._replace(function="Reported-by: x <x@example.org>"), 0, 32))
    made.session(tmp_path / "hostile.profdiff", {"base": [[]], "new": [[MadeLine(HEAP, on)]]})
    said = body(tmp_path / "hostile.profdiff")
    assert not {"\x1b", "\u202e"} & set(said)
    orders = re.compile(r"(?i)(?:[a-z][a-z-]*-by|cc):|#regzb")
    assert not [line for line in said.splitlines() if orders.match(line)]


def test_what_is_refused(tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    said = error_line(profdiff("mail", tmp_path / "without.profdiff", "--sharing", status=2))
    assert said.startswith("--sharing: no run of this session recorded shared lines: record with")
