"""profdiff import and profdiff diff: recordings that exist, compared as a user would."""

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from perf_data.writer import KERNEL, Writer
from support import ROOT, error_line, need_kernel, need_program, page_data, profdiff, profile_pair

SCHEMA = json.loads((ROOT / "profdiff/report.schema.json").read_text())
K = 0xFFFF_FFFF_8100_0000


@pytest.fixture(scope="module")
def pair() -> list[str]:
    """The two fixture profiles with their debug ELFs, as arguments."""
    return profile_pair()


@pytest.mark.kernel
def test_the_inlined_function_is_new_with_its_share(pair: list[str]) -> None:
    """2,000 calls over 100 PTEs: 15.5 instructions of each PTE by the exact collector."""
    shown = profdiff("diff", *pair, "--ops", "200000").stdout
    pattern = r"^ *0\.0% +(\d\.\d)% +\+(1\d\.\d\d) +new .*commit_anon_folio_batch$"
    row = re.search(pattern, shown, re.MULTILINE)
    assert row, shown
    assert float(row[1]) == pytest.approx(5.8, abs=0.2)
    assert float(row[2]) == pytest.approx(15.5, rel=0.05)
    assert "sampling was throttled" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


@pytest.mark.kernel
def test_what_is_not_certain_is_so_in_every_form(pair: list[str], tmp_path: Path) -> None:
    """One recording of each kernel: no boots to judge by."""
    sentence, doubt = "new takes 1.723 times", "one run of each cannot rule out noise"
    shown = profdiff(
        "diff", *pair, "--json", tmp_path / "d.json", "--text", "-", "--svg", "s.svg", cwd=tmp_path
    )
    assert shown.stdout.startswith(sentence) and doubt in " ".join(shown.stdout.split())
    document = json.loads((tmp_path / "d.json").read_text())
    assert document["heading"] == "cpu-clock (ns): +72.3% (unsure) on new, against base"
    assert sentence in (tmp_path / "s.svg").read_text()
    profdiff("import", *pair, "-o", tmp_path / "s.profdiff")
    draft = tmp_path / "draft.eml"
    profdiff("mail", tmp_path / "s.profdiff", "--to", "list@example.org", "-o", draft)
    said = " ".join(draft.read_text().split())
    assert "(unsure)" in said.partition("Subject: ")[2][:200]
    assert doubt in said


@pytest.mark.kernel
def test_json_and_csv_hold_samples(pair: list[str]) -> None:
    data = json.loads(profdiff("diff", *pair, "--json", "-").stdout)
    jsonschema.validate(data, SCHEMA)
    (metric,) = data["metrics"]
    assert (metric["metric"], metric["unit"], metric["exact"]) == ("cpu-clock", "ns", False)
    samples = {"base": 6_211, "new": 10_699}
    assert metric["totals"] == {label: 5000 * n for label, n in samples.items()}
    rows = list(csv.DictReader(io.StringIO(profdiff("diff", *pair, "--csv", "-").stdout)))
    for label, total in metric["totals"].items():
        assert sum(int(row[f"self {label}"]) for row in rows) == total
        counted = sum(int(row[f"samples {label}"] or 0) for row in rows)
        unresolved = sum(int(r[f"self {label}"]) for r in rows if r["name"].startswith("["))
        assert counted == samples[label] - unresolved // 5000


@pytest.mark.kernel
def test_diff_leaves_nothing_and_import_all(pair: list[str], tmp_path: Path) -> None:
    profdiff("diff", *pair, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    session = tmp_path / "s.profdiff"
    said = profdiff("import", *pair, "--ops", "200000", "-o", session).stdout
    assert said.strip() == f"profdiff report {session}"
    # Self-contained: without the debug ELFs, elsewhere.
    moved = tmp_path / "moved"
    shutil.move(session, moved)
    manifest = json.loads((moved / "manifest.json").read_text())
    for kernel in manifest["kernels"]:
        kernel["debug_elf"] = "/gone/vmlinux"
    (moved / "manifest.json").write_text(json.dumps(manifest))
    shown = profdiff("report", moved).stdout
    assert "commit_anon_folio_batch" in shown
    profdiff("report", moved, "--html", tmp_path / "page.html")
    assert "commit_anon_folio_batch" in page_data(tmp_path / "page.html")
    again = profdiff("import", *pair, "-o", moved, status=2)
    assert "not empty" in error_line(again)


@pytest.mark.kernel
def test_folded_stacks_come_back(pair: list[str], tmp_path: Path) -> None:
    """What is written is what flamegraph.pl reads, and what profdiff reads again."""
    out = tmp_path / "out.folded"
    profdiff("diff", *pair, "--folded", out)
    files = [tmp_path / "out.base.folded", tmp_path / "out.new.folded"]
    assert sorted(tmp_path.iterdir()) == files
    for file, samples in zip(files, (6_211, 10_699), strict=True):
        lines = file.read_text().splitlines()
        counts = [int(line.rpartition(" ")[2]) for line in lines]
        assert sum(counts) == 5000 * samples
        assert all(line.startswith(("mprot;", "perf-exec;")) for line in lines)
        assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)
    first = json.loads(profdiff("diff", *pair, "--json", "-").stdout)["metrics"][0]
    again = json.loads(profdiff("diff", *files, "--json", "-").stdout)["metrics"][0]
    for label, file in (("base", files[0]), ("new", files[1])):
        wanted = next(f for f in first["functions"] if f["name"] == "change_pte_range")
        found = next(f for f in again["functions"] if f["name"] == "change_pte_range")
        name = file.name.removesuffix(".folded")
        assert list(found["self"].values())[label == "new"] == wanted["self"][label], name


@pytest.mark.kernel
def test_perf_script_text_gives_the_same(pair: list[str], tmp_path: Path) -> None:
    need_program("perf", "linux-perf")
    elf = need_kernel("v6.12.107") / "vmlinux"
    source = pair[0].partition("=")[2]
    command = ["perf", "script", "-i", source, "-k", elf]
    text = tmp_path / "script.txt"
    text.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    data = json.loads(profdiff("diff", text, "--json", "-").stdout)
    (metric,) = data["metrics"]
    assert metric["metric"] == "cpu-clock"
    assert list(metric["totals"].values()) == [5000 * 6_211]
    by_name = {row["name"]: row for row in metric["functions"]}
    # Physical functions: what profdiff's own reading finds with everything inlined into them.
    own = json.loads(profdiff("diff", *pair[:3], "--json", "-").stdout)["metrics"][0]
    totals = {row["name"]: row["total"]["base"] for row in own["functions"]}
    for name in ("do_mprotect_pkey", "change_protection_range", "do_syscall_64"):
        assert list(by_name[name]["total"].values()) == [totals[name]]
        assert by_name[name]["side"] == "kernel"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a;b 5\na;c -3\n", "line 2: a negative count"),
        ("a;b 5\na;c\n", "line 2: no count"),
        ("a;b 1.5\n", "line 1: the count is not a whole number"),
        ("a;b 5 7\n", "two counts"),
        ("", "it is empty"),
        ("Dear list,\nplease find attached\n", "neither a perf.data file nor text"),
        ("\x00\x01\x02 5\n", "neither a perf.data file nor text"),
    ],
)
def test_other_text_is_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "stacks.txt"
    file.write_text(content)
    line = error_line(profdiff("diff", file, status=2))
    assert told in line
    assert str(file) in line


@pytest.mark.kernel
def test_a_vmlinux_of_another_build(pair: list[str]) -> None:
    other = need_kernel("v6.18.15") / "vmlinux.zst"
    line = error_line(profdiff("diff", pair[0], "--vmlinux", other, status=2))
    assert "give the vmlinux of that very build" in line


@pytest.mark.kernel
def test_arguments_that_do_not_fit(pair: list[str], tmp_path: Path) -> None:
    assert "no such file" in error_line(
        profdiff("diff", pair[0], "--vmlinux", tmp_path / "x", status=2)
    )
    line = error_line(profdiff("diff", pair[0], "--vmlinux", f"other={pair[2]}", status=2))
    assert "no FILE has the label other" in line
    assert "there is no such file" in error_line(profdiff("diff", tmp_path / "none", status=2))
    assert "given twice" in error_line(profdiff("diff", pair[0], pair[0], status=2))


def recording(path: Path, symbol_offset: int = K) -> Path:
    """A kernel sample in a file whose kernel lies where it says, or hides it (0)."""
    w = Writer()
    w.mmap2(2**32 - 1, K, 2**24, symbol_offset, b"[kernel.kallsyms]_text", 0, mode=KERNEL)
    w.sample(K + 0x1000, [], mode=KERNEL)
    path.write_bytes(w.file())
    return path


@pytest.mark.kernel
def test_a_kernel_that_is_hidden_stays_unresolved(tmp_path: Path) -> None:
    """kptr_restrict: where the kernel was is not told, and must not be guessed."""
    elf = need_kernel("v6.12.107") / "vmlinux.zst"
    hidden = recording(tmp_path / "hidden.data", 0)
    shown = profdiff("diff", hidden, "--vmlinux", elf).stdout
    assert "unresolved: hidden-kernel (kernel)" in shown
    assert "is believed to fit" in " ".join(shown.split())
    told = profdiff("diff", recording(tmp_path / "told.data"), "--vmlinux", elf).stdout
    assert "hidden-kernel" not in told


def test_names_from_a_recording_are_text(tmp_path: Path) -> None:
    """A thread's or a file's name is data: no escape sequence reaches a terminal, no markup a
    page."""
    file = tmp_path / "stacks.folded"
    file.write_text("a;b 1\n<img src=x onerror=alert(1)>;evil\x1b[31m 7\n")
    shown = profdiff("diff", file).stdout
    assert "\x1b" not in shown
    page = tmp_path / "page.html"
    profdiff("diff", file, "--html", page)
    assert "<img" not in page.read_text()


def lossy(folder: Path, label: str, lost: int) -> Path:
    """A file of four samples, and of ``lost`` that were not taken."""
    w = Writer()
    for _ in range(4):
        w.sample(K + 0x1000, [], mode=KERNEL)
    w.record(2, 0, w.pack("QQ", 10, lost))  # LOST
    file = folder / f"{label}.data"
    file.write_bytes(w.file())
    return file


def test_lost_and_unresolved_shares(tmp_path: Path) -> None:
    files = [f"{name}={lossy(tmp_path, name, lost)}" for name, lost in (("a", 0), ("b", 12))]
    data = json.loads(profdiff("diff", *files, "--json", "-").stdout)
    jsonschema.validate(data, SCHEMA)
    (shares,) = data["facts"]["shares"]
    assert shares["lost"] == {"a": 0, "b": 0.75}
    assert shares["unresolved"] == {"a": 1, "b": 1}
    assert data["report_command"].endswith("--json -")


@pytest.mark.kernel
def test_the_machine_is_what_the_file_says(pair: list[str]) -> None:
    facts = json.loads(profdiff("diff", *pair, "--json", "-").stdout)["facts"]
    assert facts["machine"]["base"]["architecture"] == "x86_64"
    assert facts["machine"]["base"]["perf_version"]
    assert facts["command_lines"] == {}
