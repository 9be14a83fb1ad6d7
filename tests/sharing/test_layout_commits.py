"""Commits that change nothing but where data lies: profdiff names the line and its fields, parent
against commit, and commit against cure. One is published (examples/memcg-false-sharing), the other
one is planted (the patches in ``planted/``)."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import ROOT, need_program, profdiff
from tables import Cells, rows, tables

pytestmark = [pytest.mark.guest, pytest.mark.build, pytest.mark.slow]

EXAMPLE = ROOT / "examples/memcg-false-sharing"
PLANTED = Path(__file__).with_name("planted")
# The tree that the patches are made for.
TAG = "v6.12.107"
# The first kernel takes some minutes, on a busy machine many.
BUILD_SECONDS = 3600
SIZES = "mem_cgroup_per_node.lru_zone_size[]"
AGE = "lruvec.nonresident_age"


@pytest.fixture(scope="module")
def folder(qemu: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's files, the planted patches, and beside them Linux as ``linux``."""
    named = os.environ.get("PROFDIFF_LINUX")
    if not named:
        pytest.skip(f"PROFDIFF_LINUX does not name a git tree of Linux with the tag {TAG}")
    argv = [need_program("git"), "-C", named, "rev-parse", "-q", "--verify", f"{TAG}^{{tree}}"]
    if subprocess.run(argv, check=False, capture_output=True).returncode:
        pytest.skip(f"PROFDIFF_LINUX is {named}, which is no git tree with the tag {TAG}")
    made = tmp_path_factory.mktemp("commits") / "example"
    shutil.copytree(EXAMPLE, made)
    shutil.copytree(PLANTED, made / "planted")
    (made / "linux").symlink_to(Path(named).resolve())
    return made


def build(specs: list[str], folder: Path) -> None:
    """Beforehand: a first build takes longer than a recording may."""
    argv = [sys.executable, "-m", "profdiff", "kernel", "build", *specs]
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr


def name(row: Cells) -> str:
    """As the report has it."""
    return ".".join(part for part in (row["type"] or row["symbol"], row["field"]) if part)


@dataclass(frozen=True)
class Shared:
    """What ``profdiff report --sharing`` says of a session."""

    tables: dict[str, list[Cells]]

    @classmethod
    def of(cls, session: Path) -> "Shared":
        document = json.loads(profdiff("report", session, "--sharing", "--json", "-").stdout)
        return cls({one["name"]: rows(one) for one in tables(document, "sharing")})

    def ops(self, kernel: str) -> int:
        (ops,) = (one["ops"] for one in self.tables["sharing-kernels"] if one["kernel"] == kernel)
        assert isinstance(ops, int)
        return ops

    def row(self, data: str) -> Cells:
        (row,) = (row for row in self.tables["sharing-lines"] if name(row) == data)
        return row

    def of_row(self, table: str, data: str) -> list[Cells]:
        """What belongs to a row."""
        number = self.tables["sharing-lines"].index(self.row(data))
        return [one for one in self.tables[table] if one["row"] == number]

    def transfers(self, kernel: str, data: str) -> float:
        """Per op."""
        return float(self.row(data)["transfers"][kernel]) / self.ops(kernel)

    def bystander_reads(self, kernel: str, read: str, of: str) -> float:
        """Reads of what nobody writes, on the line of what others write, per op."""
        bystanders = self.of_row("sharing-reads", of)
        reads = sum(one["reads"][kernel] for one in bystanders if one["read"] == read)
        return float(reads) / self.ops(kernel)

    def in_line(self, kernel: str, data: str) -> list[str]:
        """The names of the fields that the row's line has on a kernel."""
        fields = self.of_row("sharing-fields", data)
        return [one["field"] for one in fields if one["kernel"] == kernel]


@pytest.fixture(scope="module")
def published(folder: Path) -> Path:
    """The example's session: before, guarded, padded, tried, cured; of fewer operations."""
    kernels = tomllib.loads((folder / "profdiff.toml").read_text())["kernel"]
    build([one.partition("=")[2] for one in kernels], folder)
    session = folder / "published.profdiff"
    profdiff("record", "--no-observe", "--ops", "100", "-o", session, cwd=folder)
    return session


def test_the_commit_brings_a_pointer_beside_a_counter_and_the_padding_parts_them(
    published: Path,
) -> None:
    shared = Shared.of(published)
    reads = {
        kernel: shared.bystander_reads(kernel, "lruvec.pgdat", AGE)
        for kernel in ("before", "guarded", "padded", "tried", "cured")
    }
    # However often an operation loads it, its vCPU waits for the line once.
    assert reads.pop("guarded") == pytest.approx(1, abs=0.05)
    assert set(reads.values()) == {0}
    assert {AGE, "lruvec.pgdat"} <= set(shared.in_line("guarded", AGE))
    assert shared.transfers("guarded", AGE) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("kernel", "transfers"),
    [("before", 1), ("guarded", 1), ("padded", 2), ("tried", 2), ("cured", 1)],
)
def test_the_padding_ends_a_line_between_two_counters_and_the_cure_moves_them(
    published: Path, kernel: str, transfers: int
) -> None:
    shared = Shared.of(published)
    assert shared.transfers(kernel, SIZES) == pytest.approx(transfers, abs=0.05)
    if kernel != "before":
        delta = shared.row(SIZES)["transfers_delta"][kernel]
        assert delta == pytest.approx(transfers - 1, abs=0.05)


def test_instructions_explain_nothing(published: Path) -> None:
    profdiff(
        *("check", published, "--fail-if", "instructions > +1%"),
        *("--fail-if", "instructions < -1%"),
    )


def test_check_finds_the_second_line(published: Path) -> None:
    condition = "transfers:mem_cgroup_per_node.lru_zone_size > +0.5/op"
    for kernel, status in (("guarded", 0), ("padded", 1), ("tried", 1), ("cured", 0)):
        profdiff("check", published, "--kernel", kernel, "--fail-if", condition, status=status)


def test_a_planted_counter_is_found_and_so_is_its_cure(folder: Path) -> None:
    tree = f"git:linux@{TAG}"
    patches = {
        "without": "",
        "planted": "+planted/0001-proc-count-reads.patch",
        "apart": "+planted",
    }
    kernels = {label: f"{tree}{patch},config=kernel.config" for label, patch in patches.items()}
    build([*kernels.values()], folder)
    session = folder / "planted.profdiff"
    profdiff(
        *("record", "--collector", "sharing", "--no-observe", "--cpus", "2", "--copies", "2"),
        *("--ops", "500", "-o", session),
        *(word for label, spec in kernels.items() for word in ("--kernel", f"{label}={spec}")),
        *("--", "planted/version.c"),
        cwd=folder,
    )
    shared = Shared.of(session)
    counters, flag = "proc_reads.by_cpu[]", "proc_reads.counted"
    found = {kernel: shared.transfers(kernel, counters) for kernel in kernels}
    assert found == {"without": 0, "planted": pytest.approx(1, abs=0.01), "apart": 0}
    row = shared.row(counters)["kernels"]["planted"]
    assert row["false"] == row["transfers"]
    assert row["verdict"] == "exact"
    assert set(shared.in_line("planted", counters)) == {counters, flag}
    read = {kernel: shared.bystander_reads(kernel, flag, counters) for kernel in kernels}
    assert read == {"without": 0, "planted": pytest.approx(1, abs=0.01), "apart": 0}
    assert [one["name"] for one in shared.row(counters)["functions"]] == ["proc_reg_read_iter"]
