"""The comparison as the 0-day robot would show it: shares against a plain reading of what
perf-profile does, laws, and what the table says."""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support import error_line, profdiff
from synthetic import Row, compare, example, frame

from profdiff.base.errors import InputError
from profdiff.base.metric import SAMPLED, Metric
from profdiff.reports.exports import lkp
from profdiff.session import manifest

Kinds = dict[str, dict[str, float]]
# Stacks, root first, of few functions, so that they recur; with counts of two runs.
STACKS = st.dictionaries(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(tuple),
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    min_size=1,
    max_size=12,
)


def rows(stacks: dict[tuple[str, ...], tuple[int, ...]]) -> list[Row]:
    """Stacks as rows of a made-up profile."""
    return [([frame(name) for name in names], names[0], True, n) for names, n in stacks.items()]


def plain(stacks: dict[tuple[str, ...], tuple[int, ...]], run: int) -> Kinds:
    """What perf report and perf-profile/parse make of one run, sample for sample."""
    counts = {"self": defaultdict[str, float](float), "children": defaultdict[str, float](float)}
    paths: defaultdict[tuple[str, ...], float] = defaultdict(float)
    total = sum(runs[run] for runs in stacks.values()) or 1
    for names, runs in stacks.items():
        chain = names[::-1]
        counts["self"][chain[0]] += runs[run]
        for at, name in enumerate(chain):
            if name not in chain[:at]:
                counts["children"][name] += runs[run]
                paths[chain[at:]] += runs[run]
    kinds = {
        kind: {name: round(100 * n / total, 2) for name, n in found.items()}
        for kind, found in counts.items()
    }
    kinds["calltrace"] = defaultdict(float)
    for path, n in paths.items():
        if 100 * n / total >= 0.5:
            kinds["calltrace"][".".join(path[:5])] += round(100 * n / total, 2)
    return {k: {name: n for name, n in v.items() if n >= 0.05} for k, v in kinds.items()}


def shown(text: str) -> Kinds:
    """The second kernel's means of the shares in a table of two."""
    found: Kinds = {"self": {}, "children": {}, "calltrace": {}}
    for line in text.splitlines():
        if "perf-profile." in line:
            _, kind, _, name = line.split("  ")[-1].split(".", 3)
            found[kind][name] = float(line[28:38])
    return found


@given(STACKS)
def test_shares_are_those_that_perf_profile_records(
    stacks: dict[tuple[str, ...], tuple[int, int]],
) -> None:
    nothing: Sequence[Row] = [([frame("idle")], "idle", True, [1, 1])]
    text = lkp.render([compare({"base": nothing, "new": rows(stacks)})], [])
    first, second = plain(stacks, 0), plain(stacks, 1)
    for kind, found in shown(text).items():
        found.pop("idle", None)
        both = first[kind].keys() & second[kind].keys()
        # A share that one run has not is a change only where the median of two is above it.
        assert both <= found.keys() <= first[kind].keys() | second[kind].keys()
        for name, share in found.items():
            mean = (first[kind].get(name, 0) + second[kind].get(name, 0)) / 2
            assert share == pytest.approx(mean, abs=0.02)


@given(STACKS, STACKS, st.integers(2, 50))
def test_shares_do_not_know_how_much_there_was(
    base: dict[tuple[str, ...], tuple[int, ...]],
    other: dict[tuple[str, ...], tuple[int, ...]],
    factor: int,
) -> None:
    larger = {names: tuple(factor * n for n in runs) for names, runs in other.items()}
    texts = [
        lkp.render([compare({"base": rows(base), "new": rows(one)})], []) for one in (other, larger)
    ]
    lines = [[line for line in text.splitlines() if "perf-profile" in line] for text in texts]
    assert lines[0] == lines[1]
    same = lkp.render([compare({"base": rows(base), "new": rows(base)})], [])
    assert "perf-profile" not in same


def test_totals_shares_and_failures_stand_in_one_table() -> None:
    comparison = compare(example(), ops=40_000, failed=["new"])
    series = [lkp.MetricRuns("work.ns_per_call", [[10.0, 12.0], [20.0, 20.0]])]
    lines = lkp.render([comparison], series, top=2).splitlines()
    assert lines[1:3] == ["collector/cpus/memory/ops/workload:", "  exact/1/512M/40000/./work 1"]
    assert '  base ("6.0.0", build id abababababab)' in lines
    told = {line.split()[-1]: line for line in lines if "." in line.split("  ")[-1]}
    assert told["work.workload.fail"] == "           :1           50%           1:2     " + (
        "work.workload.fail"
    )
    # A standard deviation of 1 by 11.
    assert told["work.ns_per_call"].split()[:5] == ["11.00", "±", "9%", "+81.8%", "20.00"]
    totals = [1_144_320 + 300_000 + 3_764 + 12, 1_343_600 + 1_100_000 + 620_000 + 3_764 + 7]
    change = f"{100 * (totals[1] / totals[0] - 1):+.1f}%"
    whole = [str(totals[0]), change, str(totals[1]), "work.instructions"]
    assert told["work.instructions"].split() == whole
    assert told["work.instructions_per_op"].split()[0] == f"{totals[0] / 40_000:.2f}"
    for kind in ("self", "children", "calltrace"):
        assert sum(f"perf-profile.{kind}." in name for name in told) == 2
    assert "perf-profile.self.instructions.prot_commit_flush_ptes" in told
    assert "perf-profile.self.instructions.main" not in told


def test_the_workload_has_its_values() -> None:
    one = compare(example())
    described = manifest.replace(
        one.manifest, workload=manifest.replace(one.manifest.workload, argv=["./work", "{n}"])
    )
    one = replace(one, manifest=described, setting=replace(one.setting, parameters={"n": "40"}))
    assert lkp.render([one], []).splitlines()[2].endswith("/./work 40")


def test_each_collector_has_a_table() -> None:
    exact = compare(example())
    runs = [manifest.replace(run, collector="perf") for run in exact.runs]
    sampled = replace(exact, metric=Metric("cycles:u", "cycles:u", kind=SAMPLED), runs=runs)
    text = lkp.render([exact, sampled], [lkp.MetricRuns("work.ns", [[1.0], [2.0]])])
    first, second = text.split("collector/")[1:]
    assert "  exact/" in first
    assert "  perf/" in second
    assert "work.ns" in first
    assert "work.ns" not in second
    assert "work.cycles-u" in second
    assert "perf-profile.self.cycles-u.change_pte_range" in second


def test_compiler_suffixes_are_gone() -> None:
    assert "isra" not in lkp.render([compare(example())], [])


def test_namesakes_of_objects_are_one_row() -> None:
    def kernel(counts: Sequence[int]) -> list[Row]:
        owners = ["vmlinux", "ext4", "xfs"]
        return [
            ([frame("init", owner=owner)], "init", True, [count])
            for owner, count in zip(owners, counts, strict=True)
        ] + [([frame("rest")], "rest", True, [50])]

    comparison = compare({"base": kernel([10, 20, 20]), "new": kernel([30, 20, 100])})
    (line,) = [
        one
        for one in lkp.render([comparison], []).splitlines()
        if one.endswith("perf-profile.self.instructions.init")
    ]
    assert line.split()[:3] == ["50.00", "+25.0", "75.00"]


def test_what_could_not_be_resolved_keeps_its_callers() -> None:
    text = lkp.render([compare(example())], [])
    assert "[unresolved" not in text
    kinds = {"base": [("no-symbol", "", False, [1])], "new": [("no-symbol", "", False, [3])]}
    more: dict[str, Sequence[Row]] = {
        label: [*found, ([frame("f")], "f", True, [9])] for label, found in kinds.items()
    }
    assert "perf-profile.self.instructions.[unknown]" in lkp.render([compare(more)], [])


def test_three_kernels_have_a_column_each() -> None:
    kernels = {"base": example()["base"], "new": example()["new"], "fixed": example()["base"]}
    lines = lkp.render([compare(kernels)], []).splitlines()
    assert ["base", "new", "fixed"] in [line.split() for line in lines]
    (line,) = [one for one in lines if one.endswith(".self.instructions.prot_commit_flush_ptes")]
    assert line.split()[:5] == ["0.00", "+35.9", "35.86", "+0.0", "0.00"]


@given(st.text(max_size=40))
def test_nothing_hostile_reaches_the_terminal(name: str) -> None:
    row: Row = ([frame(name or "x", owner=name)], name, True, [7])
    kernels = {"base": [row], "new": [row, ([frame("f")], "f", True, [9])]}
    text = lkp.render([compare(kernels)], [lkp.MetricRuns(name, [[1.0], [2.0]])])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]", text)


def test_one_kernel_is_no_comparison() -> None:
    with pytest.raises(InputError, match="one kernel"):
        lkp.render([compare({"only": example()["base"]})], [])


def test_the_command_writes_it(tmp_path: Path) -> None:
    for label, counts in (("a", (60, 40)), ("b", (60, 90))):
        lines = [f"main;{name} {count}\n" for name, count in zip("xy", counts, strict=True)]
        (tmp_path / f"{label}.folded").write_text("".join(lines))
    pair = ["diff", "a.folded", "b.folded"]
    told = profdiff(*pair, "--lkp", "-", cwd=tmp_path).stdout
    assert "     40.00           +20.0       60.00        perf-profile.self.samples.y" in told
    profdiff(*pair, "--lkp", "out.txt", "--top", "1", cwd=tmp_path)
    assert (tmp_path / "out.txt").read_text().count("perf-profile.self.") == 1
    refused = profdiff(*pair, "--lkp", "-", "--csv", "-", cwd=tmp_path, status=2)
    assert "only one file" in error_line(refused)
