"""What others record: small inputs of the kinds that public reports are about, with right values.

They are in ``../shared/external``; its README says what perf 6.1 and 7.3 show of each.
"""

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfs import perf_of
from support import SHARED, profdiff

Metrics = dict[str, dict[str, Any]]
#: By kernel's label: counts by function (name, object).
Self = dict[tuple[str, str], int]


def external(path: str) -> Path:
    """One of the inputs, or skip with a reason that names it."""
    found = SHARED / "external" / path
    if not found.exists():
        pytest.skip(f"the input ../shared/external/{path} is absent")
    return found


def symfs(folder: str) -> list[str | Path]:
    return ["--symfs", external(f"{folder}/symfs")]


def compared(*arguments: str | Path) -> Metrics:
    """The metrics of ``profdiff diff`` by name, in its order."""
    document = json.loads(profdiff("diff", *arguments, "--json", "-").stdout)
    return {one["metric"]: one for one in document["metrics"]}


def sums(metrics: Metrics) -> dict[str, int]:
    """Of one recording: the sum of each metric."""
    return {name: sum(one["totals"].values()) for name, one in metrics.items()}


def own(metric: dict[str, Any], label: str | None = None) -> Self:
    """What each function of a kernel has itself; all that is unresolved is ``?``."""
    label = label or next(iter(metric["totals"]))
    found = {(one["name"], one["object"]): one["self"][label] for one in metric["functions"]}
    unresolved = sum(one["self"][label] for one in metric["unresolved"])
    return {key: count for key, count in [*found.items(), (("?", ""), unresolved)] if count}


def inclusive(metric: dict[str, Any]) -> dict[str, int]:
    label = next(iter(metric["totals"]))
    return {one["name"]: one["total"][label] for one in metric["functions"]}


def threads(path: Path, *options: str) -> Counter[str]:
    """The weight of each thread in folded stacks, which begin with its name."""
    found: Counter[str] = Counter()
    for line in profdiff("diff", path, "--folded", "-", *options).stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        found[stack.partition(";")[0]] += int(count)
    return found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "tracepoint-names/syscalls.perf",
            {"syscalls:sys_enter_read": 3, "syscalls:sys_enter_write": 2},
        ),
        (
            "tracepoint-names/sched.perf",
            {"sched:sched_switch": 3, "sched:sched_wakeup": 2, "sched:sched_waking": 1},
        ),
        ("two-events-folded/a.perf.data", {"cpu-clock": 6_000_000, "page-faults": 65}),
        ("two-events-folded/b.perf.data", {"cpu-clock": 5_000_000}),
        ("zstd-dwarf/dwarf8k.perf.data", {"cpu-clock": 26_000_000}),
        ("zstd-dwarf/whole-file.perf.data.zst", {"cpu-clock": 26_500_000}),
        ("user-dwarf-unreadable/jit.perf.data", {"cpu-clock:u": 630_000_000}),
        ("tracepoint-text-no-chain/prog.perf", {"sched:sched_switch": 4}),
        ("samples-without-stack/empty.perf", {"cycles": 1000}),
        ("data-address/faults.perf", {"page-faults": 100}),
        ("deleted-object/deleted.perf", {"cycles": 1500}),
        ("idle-thread-name/idle.perf.data", {"cpu-clock": 4_000_000}),
        ("comm-parenthesis/padded.perf", {"cycles": 7}),
        ("other-fields/notime.perf", {"cycles": 1}),
        ("other-fields/notime2.perf", {"cycles": 1}),
        ("names-without-dso/nodso.perf", {"cycles": 700}),
        ("folded-number-leaf/numleaf.folded", {"samples": 35}),
        ("folded-number-leaf/whole-fraction.folded", {"samples": 15}),
        ("pipe-cut/cut70.pipe", {"cpu-clock": 5_000_000}),
        ("pipe-cut/whole.pipe", {"cpu-clock": 11_750_000}),
    ],
)
def test_sums_of_each_event(path: str, expected: dict[str, int]) -> None:
    assert sums(compared(external(path))) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tracepoint-text-no-chain/prog.perf", {("?", ""): 4}),
        ("samples-without-stack/empty.perf", {("main", "prog"): 200, ("?", ""): 800}),
        ("data-address/faults.perf", {("touch", "p"): 100}),
        (
            "deleted-object/deleted.perf",
            {
                ("hot_jit", "/memfd:doublemapper (deleted)"): 300,
                ("?", ""): 400,
                ("libfn", "libupgraded.so.1"): 800,
            },
        ),
        ("comm-parenthesis/padded.perf", {("a", "p"): 1, ("b", "p"): 2, ("c", "p"): 4}),
        ("other-fields/notime.perf", {("main", "p"): 1}),
        ("other-fields/notime2.perf", {("main", "p"): 1}),
        (
            "names-without-dso/nodso.perf",
            {
                ("void exec<void (*)()>(void (*)())", ""): 100,
                (
                    "std::_Function_handler<void (), run()::{lambda()#1}>::_M_invoke"
                    "(std::_Any_data const&)",
                    "",
                ): 200,
                ("(anonymous namespace)::f(int)", ""): 400,
            },
        ),
        (
            "folded-number-leaf/numleaf.folded",
            {("worker 1", ""): 10, ("worker 2", ""): 20, ("idle", ""): 5},
        ),
        ("folded-number-leaf/whole-fraction.folded", {("a", ""): 10, ("b", ""): 5}),
    ],
)
def test_functions_of_text(path: str, expected: Self) -> None:
    (metric,) = compared(external(path)).values()
    found = own(metric)
    # An object that is no file may be named in brackets or not.
    objects = {key: re.sub(r"^\[?/(memfd:[^\]]*)\]?$", r"/\1", key[1]) for key in found}
    assert {(key[0], objects[key]): count for key, count in found.items()} == expected


def test_callers_of_deleted_objects() -> None:
    (metric,) = compared(external("deleted-object/deleted.perf")).values()
    assert inclusive(metric)["main"] == 1500


@pytest.mark.parametrize("form", ["--folded", "--folded-diff", "--csv", "--json"])
def test_all_forms_show_one_metric_first(tmp_path: Path, form: str) -> None:
    """The first metric that both files have, whatever was sampled first."""
    files = [external(f"two-events-folded/{name}.perf.data") for name in "ab"]
    profdiff("diff", *files, form, tmp_path / "out.x")
    if form == "--folded":
        texts = [(tmp_path / f"out.{name}.x").read_text() for name in "ab"]
        assert [_column(text, -1) for text in texts] == [6_000_000, 5_000_000]
        return
    text = (tmp_path / "out.x").read_text()
    if form == "--folded-diff":
        assert (_column(text, -2), _column(text, -1)) == (6_000_000, 5_000_000)
    elif form == "--csv":
        assert text.splitlines()[1].startswith("cpu-clock,")
    else:
        assert json.loads(text)["metrics"][0]["totals"] == {"a": 6_000_000, "b": 5_000_000}


def _column(text: str, number: int) -> int:
    return sum(int(line.split()[number]) for line in text.splitlines())


def test_an_option_chooses_the_metric_of_all_forms(tmp_path: Path) -> None:
    file = external("two-events-folded/a.perf.data")
    for name in ("page-faults", "import:page-faults"):
        assert threads(file, "--metric", name).total() == 65
        assert sums(compared(file, "--metric", name)) == {"page-faults": 65}
    both = [file, external("two-events-folded/b.perf.data")]
    for form in (["--text", "-"], ["--folded", tmp_path / "x"]):
        told = profdiff("diff", *both, *form, "--metric", "page-faults", status=2).stderr
        assert "--metric page-faults: the session has import:cpu-clock" in told


def test_threads_of_idle_processors() -> None:
    found = threads(external("idle-thread-name/idle.perf.data"))
    assert found == {"spin": 2_000_000, "swapper": 2_000_000}


def test_a_jitted_file_whose_dwarf_cannot_be_read() -> None:
    path = external("user-dwarf-unreadable/jit.perf.data")
    (metric,) = compared(path, *symfs("user-dwarf-unreadable")).values()
    (found,) = [
        (one["name"], one["object"], one["self"])
        for one in metric["functions"]
        if one["name"].startswith("JS:*spin")
    ]
    assert found[1] == "jitted-5367-2199.so"
    assert next(iter(found[2].values())) == 575_000_000  # 91.27%


def test_methods_of_one_short_name() -> None:
    path = external("cxx-same-name/ns.perf.data")
    (metric,) = compared(path, *symfs("cxx-same-name")).values()
    found: Counter[str] = Counter()
    for (name, owner), count in own(metric).items():
        found[re.sub(r"\(.*", "", name) if owner == "ns" else ""] += count
    assert found["beta::Worker::run"] == 44_000_000
    assert found["alpha::Worker::run"] == 17_000_000
    assert sum(count for name, count in found.items() if "tmpl<int>" in name) == 33_000_000
    assert sum(count for name, count in found.items() if "tmpl<double>" in name) == 27_000_000


def test_hashes_of_rust_are_no_part_of_a_name() -> None:
    files = [external(f"rust-symbols/{name}.perf.data") for name in "ab"]
    roots = [f"{name}={external('rust-symbols/symfs')}" for name in "ab"]
    (metric,) = compared(*files, "--symfs", roots[0], "--symfs", roots[1]).values()
    rows = {
        one["name"]: (one["self"]["a"], one["self"]["b"])
        for one in metric["functions"]
        if one["object"] == "r"
    }
    assert rows["r::b::T::read"] == (170_000_000, 174_000_000)
    assert rows["<r::b::T as r::Work>::work"] == (84_000_000, 86_000_000)
    assert all(before and after for before, after in rows.values() if before + after > 10_000_000)
    assert not [name for name in rows if re.search("_ZN|_R[A-Z]|17h[0-9a-f]{16}", name)]


def test_a_module_that_is_packed_on_one_side() -> None:
    files = [f"{name}={external(f'compressed-module/{name}.perf')}" for name in ("base", "new")]
    (metric,) = compared(*files).values()
    (row,) = metric["functions"]
    assert (row["name"], row["object"]) == ("xfs_read", "xfs")
    assert row["self"] == {"base": 100, "new": 100}


def test_the_end_of_a_pipe_is_missing() -> None:
    """Alone the cut one says so."""
    cut, whole = (external(f"pipe-cut/{name}.pipe") for name in ("cut70", "whole"))
    told = profdiff("diff", cut).stdout
    assert "its end is missing" in " ".join(told.split())
    (metric,) = compared(cut).values()
    assert metric["totals"] == {"cut70.pipe": 20 * 250_000}
    assert "missing" not in profdiff("diff", whole).stdout
    (metric,) = compared(whole).values()
    assert metric["totals"] == {"whole.pipe": 47 * 250_000}


@pytest.mark.parametrize(
    "command", ["cat {file} | {diff} -", "cat {file} | {diff} /dev/stdin", "{diff} <(cat {file})"]
)
@pytest.mark.parametrize("path", ["pipe-cut/whole.pipe", "two-events-folded/b.perf.data"])
def test_a_recording_through_a_pipe(path: str, command: str) -> None:
    file = external(path)
    diff = f"{shlex.quote(sys.executable)} -m profdiff diff --json -"
    words = ["bash", "-c", command.format(file=shlex.quote(str(file)), diff=diff)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {one["metric"]: one["totals"] for one in json.loads(done.stdout)["metrics"]}
    assert {one: sum(own.values()) for one, own in found.items()} == sums(compared(file))


# A sample as perf script shows it: thread, weight, event, address, symbol and object.
_SAMPLE = re.compile(r"\s*(.+?)\s+(\d+)\s+(\S+):\s+[0-9a-f]+ (.*) \((.*)\)")
_ORACLE = [
    "two-events-folded/a.perf.data",
    "two-events-folded/b.perf.data",
    "zstd-dwarf/dwarf8k.perf.data",
    "user-dwarf-unreadable/jit.perf.data",
    "cxx-same-name/ns.perf.data",
    "idle-thread-name/idle.perf.data",
    "pipe-cut/cut70.pipe",
    "pipe-cut/whole.pipe",
    "rust-symbols/a.perf.data",
    "rust-symbols/b.perf.data",
]


@pytest.mark.parametrize(
    "suite", ["", pytest.param("trixie-backports", marks=pytest.mark.nightly)], ids=["here", "new"]
)
@pytest.mark.parametrize("path", _ORACLE)
def test_what_perf_itself_shows(path: str, suite: str) -> None:
    """Events, threads, and functions of the programs that are there, of the newest perf too."""
    perf, file = perf_of(suite), external(path)
    root = file.parent / "symfs"
    symbols = ["--symfs", root] if root.is_dir() else []
    command = [perf, "script", "-i", "-" if "pipe" in path else file, *symbols, "--no-inline"]
    command += ["-G", "-F", "comm,period,event,ip,sym,dso"]
    with file.open("rb") as stream:
        # It ends with an error where the stream is cut.
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    of_thread: dict[str, Counter[str]] = {}
    of_function: dict[str, Counter[str]] = {}
    for line in done.stdout.splitlines():
        match = _SAMPLE.fullmatch(line)
        assert match, line
        of_thread.setdefault(match[3], Counter())[match[1]] += int(match[2])
        here = root.is_dir() and (root / match[5].lstrip("/")).is_file()
        if here and match[4] != "[unknown]":
            of_function.setdefault(match[3], Counter())[_bare(match[4])] += int(match[2])
    found = compared(file, *symbols)
    assert sums(found) == {event: threads.total() for event, threads in of_thread.items()}
    for event, weights in of_thread.items():
        assert threads(file, "--metric", event) == weights
    for event, weights in of_function.items():
        names: Counter[str] = Counter()
        for (name, _), count in own(found[event]).items():
            names[_bare(name)] += count
        assert {name: names[name] for name in weights} == weights


def _bare(name: str) -> str:
    """A function's name without its result, arguments, and what it is a template of."""
    name = re.sub(r"\((?!anonymous).*", "", name)
    return re.sub(r"^(?:long|int|void|double) (?=tmpl)", "", name)
