"""``profdiff report --sharing``: what it prints and writes, and what it refuses."""

import csv
import io
import json
import shutil
from pathlib import Path

import jsonschema
import made_sharing as made
import pytest
import synthetic_joint
from goldens import check_golden
from made_sharing import OPS, MadeLine, On
from shared_file import COUNT, FREED, HEAP, LAYOUTS, REF, counted, kernels
from support import ROOT, error_line, profdiff, unclaimed
from synthetic_session import exact_session
from tables import Cells, rows, tables

from profdiff.base import units
from profdiff.commands import record_summary
from profdiff.session import manifest as m
from profdiff.session.session import Session


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with these kernels."""
    folder = tmp_path_factory.mktemp("sharing") / "made.profdiff"
    made.session(folder, kernels(), LAYOUTS)
    return folder


def test_the_text(recorded: Path) -> None:
    for width in (60, 80, 100, 160):
        said = profdiff("report", recorded, "--sharing", "--width", str(width)).stdout
        assert all(units.width(line) <= width for line in said.splitlines())
    check_golden(ROOT / "tests/sharing/report.txt", said, "tests/sharing -k the_text")
    assert "2.15 lines change hands per operation on base, 2.15 on new" in said


def test_what_one_field_has_instead_of_another_is_one_sentence(tmp_path: Path) -> None:
    both = {"base": [[counted(COUNT, reads=True)]], "new": [[counted(REF, reads=False)]]}
    made.session(tmp_path / "two.profdiff", both, LAYOUTS)
    said = profdiff("report", tmp_path / "two.profdiff", "--sharing").stdout.replace("\n", " ")
    assert (
        "If the vCPUs take turns after each operation, 1.00 lines change hands per operation on "
        "base, 1.00 on new; new fetches or upgrades `file.f_ref` once where base fetches or "
        "upgrades `file.f_count` twice. On the line of `file.f_count`, base reads "
        "`file.f_mode` once, new does not. This counts transfers, not time."
    ) in said


def test_what_options_of_tables_do(recorded: Path) -> None:
    def lines(*options: str) -> list[str]:
        return profdiff("report", recorded, "--sharing", *options).stdout.splitlines()

    assert any(line.split()[:3] == ["1.00", "0.00", "-1.00"] for line in lines())
    assert any(line.split()[:3] == ["100", "0", "-100"] for line in lines("--absolute"))
    whole = " ".join(lines("--absolute"))
    assert "each operation, lines change hands 215 times on base, 215 on new;" in whole
    few = lines("--top", "1")
    assert any("4 not shown" in line for line in few)
    assert not any("kmem_cache_free" in line for line in lines("--min-delta", "1"))
    assert "\n".join(lines("--ascii")).isascii()


def test_the_other_report_says_what_shows_the_lines(recorded: Path, tmp_path: Path) -> None:
    due = "profdiff report --sharing shows the lines, by data and function"
    assert profdiff("report", recorded).stdout.splitlines()[-2:] == ["", due]
    exact_session(tmp_path / "without.profdiff")
    assert "--sharing" not in profdiff("report", tmp_path / "without.profdiff").stdout


def test_what_record_says_to_type_next(recorded: Path, tmp_path: Path) -> None:
    """The report that has something to show."""
    session = Session.open(recorded)
    assert record_summary.commands(session) == [f"profdiff report --sharing {recorded}"]
    both = m.replace(session.manifest, collectors=["exact", "sharing"])
    assert record_summary.commands(Session(recorded, both)) == [
        f"profdiff report {recorded}",
        f"profdiff report --sharing {recorded}",
    ]
    exact_session(tmp_path / "a b.profdiff")
    told = record_summary.commands(Session.open(tmp_path / "a b.profdiff"))
    assert told == [f"profdiff report '{tmp_path}/a b.profdiff'"]


def test_json_has_everything(recorded: Path, tmp_path: Path) -> None:
    assert not profdiff("report", recorded, "--sharing", "--json", tmp_path / "a.json").stdout
    document = json.loads((tmp_path / "a.json").read_text())
    schema = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    section = {"$ref": "#/$defs/Section", "$defs": schema["$defs"]}
    jsonschema.validate(document["sections"][0], section)
    every = {one["name"]: one for one in tables(document, "sharing")}
    lines = rows(every["sharing-lines"])
    (total,) = rows(every["sharing-lines"], "sums")
    parts = {one["transfers"]: one["part"] for one in rows(every["sharing-transfers"])}
    for label, (own,) in kernels().items():
        for name in ("transfers", "misses"):
            assert total[name][label] == sum(one[name][label] for one in lines)
        assert total["transfers"][label] == sum(one.transfers for one in own)
        for name in ("read_fetches", "write_fetches", "upgrades"):
            assert total[name][label] == sum(getattr(one, name) for one in own)
        assert parts["data without a name"][label] == 15
        assert parts["user memory"][label] == (OPS if label == "new" else 0)
    number, row = next(
        (number, one) for number, one in enumerate(lines) if one["field"] == "f_count"
    )
    ends = [row[f"transfers_{name}"]["new"] for name in ("delta", "low", "high")]
    assert ends == [-1, -1, -1]

    def of_row(name: str) -> list[Cells]:
        return [one for one in rows(every[name]) if one["row"] == number]

    (missed,) = of_row("sharing-functions")
    assert (missed["function"], missed["within"]) == (
        *("atomic_long_inc_not_zero", ["__fget_files_rcu"]),
    )
    fields = [one for one in of_row("sharing-fields") if one["kernel"] == "base"]
    assert [(one["offset"], one["bytes"], one["field"]) for one in fields] == [
        (0, 8, "file.f_count"),
        (12, 4, "file.f_mode"),
        (16, 8, "file.f_op"),
    ]
    assert fields[0]["stores"] == [50, 50] and fields[1]["loads"] == [250, 250]
    reads = {one["read"]: one["reads"]["base"] for one in of_row("sharing-reads")}
    assert reads == {"file.f_mode": OPS, "file.f_op": OPS}


def test_csv_adds_up(recorded: Path) -> None:
    said = profdiff("report", recorded, "--sharing", "--csv", "-").stdout
    lines = [row for row in csv.DictReader(io.StringIO(said)) if row["table"] == "sharing-lines"]
    for label, (own,) in kernels().items():
        assert sum(int(row[f"transfers {label}"]) for row in lines) == sum(
            one.transfers for one in own
        )
    freed = next(row for row in lines if row["data"] == "? in kmem_cache_free")
    assert freed["transfers_delta new"] == "" and freed["causes new"] == "schedule"
    mask = next(row for row in lines if row["symbol"] == "" and row["field"] == "sigmask")
    assert (mask["false base"], mask["kernel_verdict base"]) == ("100", "exact")


def test_three_kernels_and_one(tmp_path: Path) -> None:
    several = {**kernels(), "third": kernels()["base"]}
    made.session(tmp_path / "three.profdiff", several, LAYOUTS)
    said = profdiff("report", tmp_path / "three.profdiff", "--sharing", "--width", "160").stdout
    # The third one is as the base is; of the others, the one that differs most.
    plain = said.replace("\n", " ")
    assert "on base, 2.15 on new, 2.15 on third; base transfers `signalfd_ctx.sigmask` " in plain
    assert "On the line of `file.f_count`, base reads `file.f_mode` once, new" in plain
    made.session(tmp_path / "one.profdiff", {"base": kernels()["base"]}, LAYOUTS)
    said = profdiff("report", tmp_path / "one.profdiff", "--sharing").stdout
    assert "2.15 lines change hands per operation on base. This\ncounts" in said
    assert "delta" not in said


def test_runs_that_differ_are_said(tmp_path: Path) -> None:
    """The one with the median stands for all."""
    lines = kernels()["base"][0]
    other = [lines[0]._replace(transfers=OPS - 1), *lines[1:]]
    made.session(tmp_path / "runs.profdiff", {"base": [lines, other, lines]}, LAYOUTS)
    said = profdiff("report", tmp_path / "runs.profdiff", "--sharing", "--width", "160").stdout
    (row,) = (line for line in said.splitlines() if "file.f_count" in line and "differ" in line)
    assert row.split()[:3] == ["1.00", "2.00", "1.00"]
    assert "differ: the runs of a kernel differ" in said.replace("\n", " ")


def test_where_nothing_changes_hands_a_sentence_says_it(tmp_path: Path) -> None:
    made.session(tmp_path / "none.profdiff", {"base": [[]], "new": [[]]})
    said = profdiff("report", tmp_path / "none.profdiff", "--sharing").stdout
    assert said == "No line of the cache changes hands between vCPUs in this window.\n"


def test_names_of_strangers_move_no_cursor(tmp_path: Path) -> None:
    hostile = COUNT._replace(path="\x1b[2J.counter", function="f\x9b\u202e", nested=[])
    lines = [MadeLine(HEAP, [On(hostile, vcpu, 0, store=True) for vcpu in (0, 1)])]
    lines.append(MadeLine(HEAP + 64, [On(FREED._replace(function="g\x1b[m"), 0, 0, store=True)]))
    made.session(tmp_path / "hostile.profdiff", {"base": [lines]})
    for form in ("--text", "--csv", "--json"):
        said = profdiff("report", tmp_path / "hostile.profdiff", "--sharing", form, "-").stdout
        assert not {"\x1b", "\x9b", "\u202e"} & set(said)


@pytest.mark.parametrize(
    ("words", "due"),
    [
        (["--sharing", "--html"], "--sharing cannot be written with --html"),
        (["--sharing", "--user-only"], "leave --kernel-only and --user-only out"),
        (["--sharing", "--types"], "--types and --sharing cannot be used together"),
        (["--sharing", "--at", "size=4"], "there is one point alone"),
    ],
)
def test_what_is_refused(recorded: Path, words: list[str], due: str) -> None:
    assert due in error_line(profdiff("report", recorded, *words, status=2))


def test_where_nothing_is_recorded_it_says_what_to_do(recorded: Path, tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    said = error_line(profdiff("report", tmp_path / "without.profdiff", "--sharing", status=2))
    due = "no run of this session recorded shared lines: record with --collector sharing --cpus 2"
    assert said == due
    unclaimed(shutil.copytree(recorded, tmp_path / "damaged.profdiff"))
    (tmp_path / "damaged.profdiff/runs/new-1/sharing.bin").write_bytes(b"PDSHARED")
    said = error_line(profdiff("report", tmp_path / "damaged.profdiff", "--sharing", status=2))
    assert "is not a file of shared lines" in said
    synthetic_joint.joint(tmp_path / "parts")
    said = error_line(profdiff("report", tmp_path / "parts", "--sharing", status=2))
    assert "name one of them" in said


def test_a_kernel_without_debug_information_has_functions(tmp_path: Path) -> None:
    found = made.session(tmp_path / "bare.profdiff", {"base": kernels()["base"]}, LAYOUTS)
    bare = [m.replace(one, accesses=None) for one in found.manifest.kernels]
    found.save(m.replace(found.manifest, kernels=bare))
    said = profdiff("report", tmp_path / "bare.profdiff", "--sharing").stdout
    assert said.startswith("base: data has no names: it has no debug ELF")
    assert "? in __fget_files_rcu" in said
