"""What the letter says of experiments: which claim comes first, tables, boots, evidence."""

import re
from pathlib import Path

import pytest
from mail.letters import timed
from msgspec.structs import replace
from support import profdiff
from synthetic_series import COUNTS, OPS, series
from synthetic_session import exact_session

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.mail.content import MailOptions, letter
from profdiff.mail.draft import attach
from profdiff.session import manifest as m
from profdiff.session.state import State
from profdiff.views.claims.checklist import Grounds, Item, items
from profdiff.views.claims.claim import claim
from profdiff.views.kernels.state import machine

ICOUNT = m.Qemu(
    version="QEMU emulator version 7.2.22",
    arguments=[],
    accelerator="tcg",
    architecture="x86_64",
    virtual_clock=True,
)
KVM = m.Qemu(
    version="QEMU emulator version 7.2.22",
    arguments=[],
    accelerator="kvm",
    architecture="x86_64",
)
STEADY = [100.0, 100.1, 100.2, 100.3, 100.4]
WALL = m.Measured("wall-time", "ns", "lower", True, [1.0])
OWN = m.Measured("latency", "ns/call", "lower", False, [1.0])
RATE = m.Measured("throughput", "ops/s", "higher", False, [1.0])


def times(factor: float, values: list[float] | None = None) -> list[float]:
    return [factor * value for value in values or STEADY]


def text(findings: Findings) -> str:
    return letter(findings, MailOptions(["profdiff", "mail"])).render()


def flat(findings: Findings) -> str:
    return " ".join(text(findings).split())


def point(findings: Findings, name: str) -> Item:
    found = {item.text: item for item in items(Grounds(findings))}
    return found[name]


def test_a_time_on_hardware_is_a_time() -> None:
    said = claim(timed({"base": [STEADY], "new": [times(1.5)]}))
    assert said.subject == "work: 50.0% more time on 6.1.0 than on 6.0.0"
    assert said.sentence == (
        "work takes 50.0% more time on Linux 6.1.0 (new) than on Linux 6.0.0 (base): "
        "latency 150.30 instead of 100.20 ns/call."
    )
    assert "95% confidence interval of the change is +4" in said.more[0]
    assert "from 5 boots of each" in said.more[0]
    faster = claim(timed({"base": [STEADY], "new": [times(0.5)]}))
    assert "takes 50.0% less time on Linux 6.1.0" in faster.sentence


@pytest.mark.parametrize("metrics", [[OWN], [WALL], [WALL, OWN]])
def test_an_emulated_clock_is_never_called_time(metrics: list[m.Measured]) -> None:
    found = timed({"base": [STEADY], "new": [times(1.5)]}, metrics=metrics, qemu=ICOUNT)
    said = claim(found)
    assert "executes 50.0% more instructions on an emulated clock" in said.sentence
    assert "on x86_64 under an emulator" in said.sentence
    for line in (said.subject, said.sentence):
        assert "time" not in line
    assert "wall-time" not in text(found)
    assert not re.search(r"\bns\b", text(found))
    rate = claim(timed({"base": [STEADY], "new": [times(2)]}, metrics=[RATE], qemu=ICOUNT))
    assert "has 100.0% higher throughput on an emulated clock" in rate.sentence
    guest = claim(timed({"base": [STEADY], "new": [times(1.5)]}, metrics=metrics, qemu=KVM))
    assert "takes 50.0% more time" in guest.sentence
    assert "x86_64 in a virtual machine" in guest.sentence


def test_what_the_workload_says_of_itself_comes_first() -> None:
    both = {"base": [STEADY], "new": [times(1.5)]}
    assert "latency 150.30" in claim(timed(both, metrics=[WALL, OWN])).sentence
    assert "wall-time 150.30" in claim(timed(both, metrics=[WALL])).sentence


def test_the_worst_kernel_stands_for_all_and_the_last_is_told() -> None:
    ladder = {"base": [STEADY], "a": [times(1.2)], "b": [times(1.5)], "c": [times(0.9)]}
    said = claim(timed(ladder))
    assert "50.0% more time on Linux 6.2.0 (b)" in said.sentence
    assert "On the last kernel, Linux 6.3.0 (c), the change is -10.0%, changed." in said.more
    higher = claim(timed(ladder, metrics=[RATE]))
    assert "has 10.0% lower throughput on Linux 6.3.0 (c)" in higher.sentence
    better = claim(timed({"base": [STEADY], "a": [times(0.8)], "b": [times(0.9)]}))
    assert "20.0% less time on Linux 6.1.0 (a)" in better.sentence


def test_what_is_uncertain_is_not_claimed() -> None:
    few = claim(timed({"base": [STEADY[:3]], "new": [times(1.5, STEADY[:3])]}))
    assert few.subject.endswith("(unsure)")
    assert few.sentence.startswith("work takes 50.0% more time")
    assert few.sentence.endswith("; unsure: with 3 boots against 3, p cannot be below 0.1.")
    same = claim(timed({"base": [STEADY], "new": [times(1.0001)]}))
    assert "takes the same time on Linux 6.1.0 (new) as on Linux 6.0.0 (base), to within 1%" in (
        same.sentence
    )
    # A change that is certain comes before a larger one that is not.
    wild = [50.0, 400.0, 90.0, 300.0, 95.0]
    mixed = claim(timed({"base": [STEADY], "a": [wild], "b": [times(1.02)]}))
    assert "2.0% more time on Linux 6.2.0 (b)" in mixed.sentence


def test_counts_and_their_limits() -> None:
    exact = timed(
        {"base": [[1000.0]], "new": [[1100.0]]},
        metrics=[m.Measured("instructions", "instructions", "lower", True, [1.0])],
        qemu=ICOUNT,
        collector="exact",
        ops=100,
    )
    assert claim(exact).sentence.endswith("emulator: 11 instead of 10 instructions per op.")
    assert 'is counted ("exact"), none is sampled, in one boot of each kernel' in flat(exact)
    assert re.search(r"(?m)^instructions per op +10 +11 +\+10\.0%$", text(exact))
    assert "exact counts\nmetric" in text(exact)
    equal = timed({"base": [[5.0]], "new": [[5.0]]}, qemu=ICOUNT)
    assert "executes exactly as many instructions on an emulated clock" in claim(equal).sentence
    from_nothing = timed({"base": [[0.0]], "new": [[5.0]]}, qemu=ICOUNT)
    assert "executes more instructions on an emulated clock" in claim(from_nothing).sentence


def test_a_kernel_without_a_result_and_one_kernel() -> None:
    alone = claim(timed({"base": [STEADY], "new": [[]]}))
    assert "No second kernel has a result" in alone.sentence
    third = claim(timed({"base": [STEADY], "a": [[]], "b": [times(1.5)]}))
    assert "50.0% more time on Linux 6.2.0 (b)" in third.sentence


def test_a_sweep_is_a_table_and_a_sentence() -> None:
    sizes = ["4", "40", "400"]
    swept = timed(
        {
            "base": [STEADY, STEADY, STEADY],
            "new": [times(1.1), times(1.2), times(1.3)],
        },
        sizes=sizes,
    )
    said = claim(swept)
    assert " at size 400: latency 130.26" in said.sentence
    rows = [line.split()[0] for line in text(swept).splitlines() if "±" in line and "%" in line]
    assert [row for row in rows if row in sizes] == sizes
    assert "Values of every boot at size 400, not rounded (latency):" in text(swept)
    assert "new: 130 130.13 130.26 130.39 130.52" in text(swept)
    swept_ = point(swept, "Sweep over sizes")
    assert (swept_.done, swept_.note) == (True, "size 4 to 400, 3 values")
    two = timed({"base": [STEADY] * 2, "new": [STEADY] * 2}, sizes=sizes[:2])
    assert not point(two, "Sweep over sizes").done
    partly = timed({"base": [STEADY] * 3, "new": [STEADY, STEADY, []]}, sizes=sizes)
    assert not point(partly, "Sweep over sizes").done


def test_tables_of_a_series_are_not_doubled() -> None:
    series = timed({"base": [STEADY], "one": [times(1.1)], "two": [times(1.2)]})
    said = text(series)
    assert said.count("+20.0%") == 1
    assert "to previous" not in said
    longer = {f"k{n}": [times(1 + n / 10)] for n in range(6)}
    assert "to previous" in text(timed(longer))
    assert point(series, "Every patch, with spread").done
    many = [m.Measured(f"metric{n}", "ns", "lower", False, [1.0]) for n in range(9)]
    ladder = text(timed({"base": [STEADY], "one": [STEADY], "two": [STEADY]}, metrics=many))
    assert "to previous" not in ladder
    assert any(line.startswith("metric8, ns ") for line in ladder.splitlines())
    pair = timed({"base": [STEADY], "new": [STEADY]})
    assert not point(pair, "Every patch, with spread").done
    once = timed({"base": [[1.0]], "one": [[1.0]], "two": [[1.0]]})
    assert not point(once, "Every patch, with spread").done


def test_repetitions_must_be_able_to_tell() -> None:
    assert point(timed({"base": [STEADY], "new": [STEADY]}), "Repetitions").done
    few = point(timed({"base": [STEADY[:3]], "new": [STEADY[:3]]}), "Repetitions")
    assert (few.done, few.note) == (
        False,
        "3 boots of each kernel, 0 failed; p cannot be below 0.1",
    )


def test_the_noise_floor_is_a_point() -> None:
    with_twin = timed({"base": [STEADY], "base.aa": [times(1.01)], "new": [times(2)]})
    found = point(with_twin, "Noise floor (A/A)")
    assert found.done
    assert re.search(r"(?m)^metric .* A/A\nlatency, ns/call .* ±1\.\d%$", text(with_twin))
    assert not point(timed({"base": [STEADY], "new": [STEADY]}), "Noise floor (A/A)").done


def test_what_differs_in_state_stands_before_everything() -> None:
    plain = timed({"base": [STEADY], "new": [times(2)]})
    differences: dict[str, dict[str, str | None]] = {"anon_huge_kib": {}}
    differences |= {f"system call {n}": {"base": "0", "new": "16"} for n in range(9)}
    differs = replace(plain, state=State(differences))
    said = text(differs)
    assert said.index("STATE DIFFERS: AnonHugePages") < said.index("How it was measured")
    assert "6 more state differences" in said
    assert "\nsame state:" not in said
    same = point(differs, "Same work in the same state")
    assert not same.done
    assert same.note.startswith("AnonHugePages of the workload (KiB), system call 0")
    equal = text(replace(plain, state=State(equal={"minor_faults": "7"}, unknown=["output"])))
    assert "equal as far as known: 7 minor faults" in equal
    assert "\nsame state:" not in equal
    assert "state not known: output" in equal


def test_an_order_that_was_not_kept_is_told() -> None:
    plain = timed({"base": [STEADY], "new": [STEADY]})
    assert "NOT interleaved" not in text(plain)
    runs = [
        m.replace(run, started=f"2026-11-20T22:00:{number:02}Z")
        for number, run in enumerate(plain.manifest.runs)
    ]
    blocks = replace(plain, manifest=m.replace(plain.manifest, runs=runs))
    assert "timed runs were NOT interleaved" in flat(blocks)


def test_the_machine_decides_what_is_bare_metal() -> None:
    values = {"base": [STEADY], "new": [STEADY]}
    for qemu, note in ((ICOUNT, "an emulator"), (KVM, "a virtual machine")):
        found = point(timed(values, qemu=qemu), "Bare metal")
        assert (found.done, found.note) == (False, note)
    assert point(timed(values), "Bare metal").note == "machine unknown"
    assert machine(timed(values, qemu=KVM)).architecture == "x86_64"


def test_timed_runs_have_no_stacks_to_attach() -> None:
    with pytest.raises(InputError, match="the session has no profile"):
        attach("svg", timed({"base": [STEADY], "new": [STEADY]}), 1000)


def test_prose_is_narrow_and_tables_are_not_wide() -> None:
    many = {f"kernel{number}": [times(1 + number / 10)] for number in range(9)}
    many = {"base": many.pop("kernel0"), **many}
    for findings in (timed(many), timed({**many, "base.aa": [STEADY]}, metrics=[OWN, WALL, RATE])):
        assert all(len(line) <= 100 for line in text(findings).splitlines())
        prose = [line for line in text(findings).splitlines() if "  " not in line.strip()]
        assert all(len(line) <= 75 for line in prose), max(prose, key=len)


def test_a_series_has_a_table_for_its_cover_letter(tmp_path: Path) -> None:
    """A row for each patch, its delta to the one before that was built, and the sum."""
    series(tmp_path / "s")
    lines = profdiff("mail", tmp_path / "s", "--cover-letter").stdout.splitlines()
    rows = [re.split(r"  +", line.strip()) for line in lines]
    counts = [sum(one.values()) for one in COUNTS.values()]
    assert ["base: mm/mprotect: base", f"{counts[0] / OPS:.2f}"] in rows
    step = counts[1] - counts[0]
    told = [f"{counts[1] / OPS:.2f}", f"{step / OPS:+.2f}", f"{100 * step / counts[0]:+.1f}%"]
    assert ["1/3 mm/mprotect: 1-hoist", *told] in rows
    assert ["2/3 2-broken", "not built"] in rows
    total = counts[2] - counts[0]
    told = [f"{counts[2] / OPS:.2f}", f"{total / OPS:+.2f}", f"{100 * total / counts[0]:+.1f}%"]
    assert ["all", *told] in rows
    assert max(map(len, lines)) <= 75
    assert "From: " not in "".join(lines)
    exact_session(tmp_path / "t")
    profdiff("mail", tmp_path / "s", "--cover-letter", "-o", tmp_path / "cover")
    assert (tmp_path / "cover").read_text().splitlines() == lines
    said = profdiff("mail", tmp_path / "t", "--cover-letter", status=2)
    assert "--cover-letter: the kernels are not commits of a series" in said.stderr


def test_a_boot_is_not_varied_in_mappings() -> None:
    plain = timed(
        {"base": [[1000.0]], "new": [[1100.0]]},
        metrics=[m.Measured("instructions", "instructions", "lower", True, [1.0])],
        qemu=ICOUNT,
        collector="exact",
    )
    manifest = m.replace(plain.manifest, options={"boot": True})
    boot = replace(plain, manifest=manifest)
    seen = [" ".join(claim(one).more) for one in (plain, boot)]
    assert "other mappings, files and addresses were not tried" in seen[0]
    assert "other random numbers and addresses (--vary-boots) were not tried" in seen[1]
