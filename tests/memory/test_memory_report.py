"""Memory in what a session shows, recorded with --allocations: all forms, and conditions."""

import csv
import io
import json
from pathlib import Path

import pytest
from qemus import QEMU_10, another_qemu
from support import RESTORED, error_line, page_data, profdiff
from tables import rows, tables

from profdiff.collectors.architecture import X86_64

pytestmark = [pytest.mark.guest, pytest.mark.network]

PROGRAM = Path(__file__).with_name("known.c")
FILES, OPS = 300, 100


@pytest.fixture(scope="module")
def session(old_kernel: Path, new_kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kernels, in two states. An op is three files."""
    folder = tmp_path_factory.mktemp("memory") / "memory.profdiff"
    kernels = [f"--kernel=old={old_kernel}", f"--kernel=new={new_kernel}"]
    qemu = ["--qemu", str(another_qemu(QEMU_10, X86_64).program)]
    how = ["--allocations", "--vary-state", "1", "--ops", str(OPS), "-o", str(folder)]
    command = ["--", str(PROGRAM), "files", str(FILES)]
    profdiff("record", *RESTORED, *qemu, *kernels, *how, "--append", "slab_nomerge", *command)
    return folder


def test_the_report_says_what_is_kept(session: Path) -> None:
    text = profdiff("report", session, "memory", "--width", "120").stdout
    assert "objects of slab caches, bytes per op (100 ops)\n" in text
    (files,) = [line.split() for line in text.splitlines() if line.endswith(" filp")]
    # 192 bytes each, of three files; none is freed.
    assert files == ["576.00", "576.00", "0", "0.00", "0.00", "0", "576.00", "576.00", "0", "filp"]
    assert "blocks of pages by order per op (100 ops)\n" in text
    whole = profdiff("report", session, "--width", "120").stdout
    assert "objects of slab caches, bytes per op" in whole


def test_programs_get_the_same_numbers(session: Path, tmp_path: Path) -> None:
    files = {form: tmp_path / form for form in ("csv", "json", "html")}
    profdiff("report", session, "memory", "--csv", files["csv"], "--json", files["json"])
    profdiff("report", session, "--html", files["html"])
    caches, pages = tables(json.loads(files["json"].read_text()), "memory")
    assert (caches["name"], pages["name"]) == ("memory-caches", "memory-pages")
    (filp,) = [row for row in rows(caches) if row["cache"] == "filp"]
    assert filp["kept"] == {"old": 192 * FILES, "new": 192 * FILES}
    assert filp["size"] == {"old": 192, "new": 192}
    # In the other state, too.
    assert filp["kept_low"] == filp["kept_high"] == {"new": 0}
    (whole,) = rows(caches, "sums")
    for kernel in ("old", "new"):
        assert whole["kept"][kernel] == sum(row["kept"][kernel] for row in rows(caches))
        blocks = {row["order"]: row["kept"][kernel] for row in rows(pages)}
        (sums,) = rows(pages, "sums")
        each = (blocks[order] << int(order.removeprefix("order-")) for order in blocks)
        assert sums["kept"][kernel] == sum(each)
    written = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    (row,) = [row for row in written if row["cache"] == "filp"]
    assert (row["kept old"], row["size new"]) == (str(192 * FILES), "192")
    assert "objects of slab caches, bytes" in page_data(files["html"])


def test_conditions_name_caches_and_orders(session: Path) -> None:
    held = ("memory-caches.kept:filp > -1", "memory-pages.allocated:order-0 > -50%")
    passed = ("memory-caches.kept:filp > +0", "memory.freed:filp > +0/op")
    given = [word for one in (*held, *passed) for word in ("--fail-if", one)]
    said = profdiff("check", session, *given, status=1).stdout
    assert all(f"fails: {one}" in said for one in held)
    assert all(f"passes: {one}" in said for one in passed)
    wrong = profdiff("check", session, "--fail-if", "memory.kept:flip > +0", status=125)
    assert "memory has no row 'flip'; did you mean filp?" in wrong.stdout
    wrong = profdiff("check", session, "--fail-if", "memory:filp > +0", status=125)
    assert "memory-caches.allocated, memory-caches.freed" in wrong.stdout


def test_a_mail_has_it(session: Path) -> None:
    text = profdiff("mail", session).stdout
    told = profdiff("report", session, "memory", "--width", "10000").stdout.splitlines()[0]
    words = " ".join(text.split())
    assert told.startswith("new") and (told in words) == ("certain" not in told)
    assert told not in " ".join(profdiff("mail", session, "--without", "memory").stdout.split())


def test_what_cannot_be_recorded_is_one_line(old_kernel: Path, tmp_path: Path) -> None:
    qemu = another_qemu(QEMU_10, X86_64).program
    kernels = [f"--kernel=a={old_kernel}/bzImage", f"--kernel=b={old_kernel}/bzImage"]
    asked = ["record", "--qemu", qemu, *kernels, "--allocations", "-o", tmp_path / "x"]
    refused = profdiff(*asked, "--", PROGRAM, "files", "1", status=2)
    assert "--allocations: a has no debug ELF: name IMAGE,vmlinux=ELF" in error_line(refused)
