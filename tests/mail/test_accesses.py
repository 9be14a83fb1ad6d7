"""The table of data that a kernel accesses more or less often, in a mail."""

import re
from pathlib import Path

import pytest
from made_accesses import STORE, Layout, Site, session
from support import error_line, profdiff
from synthetic_session import exact_session

from profdiff.base import units
from profdiff.mail.letter import LINES
from profdiff.mail.tables import WIDTH

SENDER = ("--from", "Riley <riley@example.org>", "--to", "list@example.org")
LAYOUTS: dict[str, Layout] = {"vma": (128, {"flags": (32, 8), "file": (96, 8), "seq": (64, 4)})}
OPS = 10


def kernels() -> dict[str, list[Site]]:
    """Much that differs for certain, something that does not, the stack, and what is not known."""

    def site(path: str, count: int, function: str = "work") -> Site:
        return Site(path, count, function, type="vma", offset=LAYOUTS["vma"][1][path][0])

    stores = {"does": frozenset({STORE})}
    slot = Site("", 300, kind="spill", type="")
    seq = site("seq", 0, "lock")._replace(**stores)  # type: ignore[arg-type]
    hidden = Site("", 500, "lock")._replace(**stores).hidden("void-pointer")  # type: ignore[arg-type]
    return {
        "base": [site("flags", 560), site("file", 90), seq._replace(count=1), hidden, slot],
        "new": [site("flags", 1937), site("file", 30), seq._replace(count=900),
                hidden._replace(count=450), slot._replace(count=700)],
    }  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A session of these kernels."""
    session(tmp_path / "made.profdiff", kernels(), LAYOUTS, ops=OPS)
    return tmp_path / "made.profdiff"


def body(folder: Path, *options: str) -> str:
    """The mail's text."""
    said = profdiff("mail", folder, *SENDER, *options).stdout
    return said.partition("\n\n")[2]


def table(said: str) -> list[list[str]]:
    """The rows of the table of data, its sums too."""
    lines = said[said.index("Data accessed") :].split("\n\n")[0].splitlines()
    start = next(at for at, line in enumerate(lines) if line.endswith("  data"))
    return [re.split(r"  +", line.strip()) for line in lines[start + 1 :] if "---" not in line]


def test_the_table_and_its_sentence(made: Path) -> None:
    said = body(made, "--types")
    assert (
        "new loads vma.flags 193.70 times per op, base 56.00 (+137.70), mostly in work."
        in " ".join(said.split())
    )
    # 50 stores to nobody knows what could be those of seq: the number may differ, not its sign.
    assert table(said) == [
        ["56.00", "193.70", "+137.70", "+245.9%", "load", "vma.flags"],
        ["0.10", "90.00", "~+89.90", "900 times", "store", "vma.seq"],
        ["9.00", "3.00", "-6.00", "-66.7%", "load", "vma.file"],
        ["30.00", "70.00", "on the stack"],
        ["50.00", "45.00", "unresolved"],
        ["145.10", "401.70", "+256.60", "+176.8%", "all"],
    ]
    assert "~: only the sign is certain" in " ".join(said.split())


def test_sums_are_those_of_the_kernels(made: Path) -> None:
    rows = table(body(made, "--types"))
    for column, sites in enumerate(kernels().values()):
        whole = sum(site.count * len(site.does) for site in sites)  # type: ignore[operator]
        assert float(rows[-1][column]) == pytest.approx(whole / OPS)
        assert sum(float(row[column]) for row in rows[:-1]) == pytest.approx(whole / OPS)


def test_it_is_there_only_if_somebody_asks(made: Path) -> None:
    assert "Data accessed" not in body(made)


def test_a_long_table_stays_in_the_mail(tmp_path: Path) -> None:
    """At most eight rows, of 75 columns."""
    long = "a_member_with_a_long_name.and_one_more_below_it.value"
    many = {
        label: [
            Site(f"{long}_{n}", 10 + n * factor, f"f{n}", type="a_type_with_a_long_name", offset=n)
            for n in range(90)
        ]
        for label, factor in (("base", 1), ("new", 3))
    }
    session(tmp_path / "many.profdiff", many, {}, ops=OPS)
    said = body(tmp_path / "many.profdiff", "--types")
    bounded = said[: said.index("How to reproduce:")].rstrip("\n").split("\n")
    assert len(bounded) <= LINES
    assert all(units.width(line) <= WIDTH for line in bounded)
    rows = table(said)
    assert sum(len(row) == 6 or row[-2:-1] == ["load"] for row in rows) <= 8
    assert any("other fields" in row[-1] for row in rows)
    # Names that are cut still differ.
    names = [row[-1] for row in rows if "load" in row]
    assert len(set(names)) == len(names) > 3


def test_what_is_not_certain_is_last_and_has_no_number(tmp_path: Path) -> None:
    """A load that is not resolved on the base could be all of a difference that is larger."""

    def site(path: str, count: int, function: str) -> Site:
        return Site(path, count, function, type="vma", offset=LAYOUTS["vma"][1][path][0])

    unsure = {
        "base": [
            site("flags", 10, "work"),
            site("file", 1, "far"),
            site("file", 600, "far").hidden(),
        ],
        "new": [site("flags", 40, "work"), site("file", 500, "far")],
    }
    session(tmp_path / "unsure.profdiff", unsure, LAYOUTS, ops=OPS)
    said = body(tmp_path / "unsure.profdiff", "--types")
    rows = [row for row in table(said) if row[-1].startswith("vma.")]
    assert [(row[-1], *row[2:4]) for row in rows] == [
        ("vma.flags", "+3.00", "+300.0%"),
        ("vma.file", "?", "?"),
    ]
    # The heading may be wrapped.
    assert "?: not certain" in " ".join(said.split())


def test_where_nothing_differs_there_is_no_table(tmp_path: Path) -> None:
    same = {label: [Site("a", 5, "work")] for label in ("base", "new")}
    session(tmp_path / "same.profdiff", same, {}, ops=OPS)
    assert "Data accessed" not in body(tmp_path / "same.profdiff", "--types")


def test_what_is_refused(tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    said = error_line(profdiff("mail", tmp_path / "without.profdiff", "--types", status=2))
    assert said.startswith("--types: base: which data its instructions access is not")
