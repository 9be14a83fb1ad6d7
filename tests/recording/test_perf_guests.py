"""Recording with perf in guests: x86-64 without a PMU, arm64 with QEMU's."""

import json
from pathlib import Path

import jsonschema
import pytest
from support import EXAMPLE, RESTORED, ROOT, error_line, need_debian, need_program, profdiff

from profdiff.collectors.guest.qemu import Qemu
from profdiff.session.session import Session

SCHEMA = json.loads((ROOT / "profdiff/report.schema.json").read_text())


def need_perf() -> None:
    need_program("perf", "linux-perf")
    need_program("xz", "xz-utils")


@pytest.mark.guest
def test_a_guest_without_a_pmu_is_sampled_by_its_clock_and_says_so(
    counted_and_sampled: Path,
) -> None:
    manifest = Session.open(counted_and_sampled).manifest
    assert manifest.collectors == ["exact", "perf"]
    runs = [run for run in manifest.runs if run.collector == "perf"]
    assert sorted(run.kernel for run in runs) == ["base", "new"]
    for run in runs:
        assert run.sampling
        assert run.sampling.events == ["cpu-clock"]
        assert "cycles and instructions cannot be sampled" in str(run.sampling.fallback)
        assert {"perf-data", "environment", "kallsyms", "notes", "symbols"} <= run.files.keys()
    shown = profdiff("report", counted_and_sampled, "--top", "10").stdout
    assert "NOT what was asked for: cycles and instructions" in shown
    assert "in a guest under QEMU: these are not timings" in " ".join(shown.split())


@pytest.mark.guest
def test_samples_agree_with_exact_counts(counted_and_sampled: Path) -> None:
    """Under -icount a nanosecond is an instruction: the clock's share of each function is that of
    its instructions, but for chance and what sampling itself executes."""
    data = json.loads(profdiff("report", counted_and_sampled, "--json", "-").stdout)
    jsonschema.validate(data, SCHEMA)
    exact, sampled = data["metrics"]
    assert (exact["exact"], sampled["exact"]) == (True, False)
    counted = {row["name"]: row["self"] for row in exact["functions"]}
    found = {row["name"]: row for row in sampled["functions"]}
    for name in ("prot_commit_flush_ptes", "commit_anon_folio_batch", "change_pte_range"):
        share = counted[name]["new"] / exact["totals"]["new"]
        samples = found[name]["samples"]["new"]
        assert samples > 50
        # Four standard errors, and a tenth: timer interrupts favour where they are let in.
        bound = 4 / samples**0.5 + 0.25
        assert found[name]["self"]["new"] / sampled["totals"]["new"] == pytest.approx(
            share, rel=bound
        )
    assert found["commit_anon_folio_batch"]["self"]["base"] == 0


@pytest.mark.guest
def test_nothing_is_recorded_twice(
    counted_and_sampled: Path, old_kernel: Path, new_kernel: Path
) -> None:
    kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
    command = [
        "record",
        *RESTORED,
        "--no-observe",
        "--collector",
        "exact,perf",
        *kernels,
        "-o",
        counted_and_sampled,
    ]
    again = profdiff(*command, "--", EXAMPLE, "400", "2000")
    assert "all runs are already recorded" in again.stderr
    other = profdiff(*command, "--count", "99999", "--", EXAMPLE, "400", "2000", status=2)
    assert "--count" in error_line(other)


@pytest.mark.guest
def test_folded_stacks_have_callers(counted_and_sampled: Path, tmp_path: Path) -> None:
    profdiff("report", counted_and_sampled, "--folded", tmp_path / "x.folded")
    text = (tmp_path / "x.new.folded").read_text()
    assert ";do_mprotect_pkey;mprotect_fixup;" in text
    assert ";change_pte_range;" in text


@pytest.mark.guest
def test_an_event_that_the_guest_lacks(
    old_kernel: Path, new_kernel: Path, qemu: Qemu, tmp_path: Path
) -> None:
    need_perf()
    command = ["record", "--collector", "perf", "--event", "cache-misses", *RESTORED]
    command += ["--kernel", old_kernel, "--kernel", new_kernel, "-o", tmp_path / "s"]
    line = error_line(profdiff(*command, "--", EXAMPLE, "4", "2", status=2))
    assert "perf cannot record there" in line
    assert "not supported" in line
    assert Session.open(tmp_path / "s").manifest.runs[0].failure


ARM = """
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    size_t size = 400 * 1024;
    char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, size);
    for (int i = 0; i < 300; i++) {
        mprotect(p, size, PROT_NONE);
        mprotect(p, size, PROT_READ | PROT_WRITE);
    }
    return 0;
}
"""


@pytest.mark.guest
@pytest.mark.network
def test_arm64_guests_count_cycles_and_instructions(tmp_path: Path) -> None:
    """Hardware events on a machine without a PMU: two of Debian's kernels, its perf, QEMU's PMU."""
    need_perf()
    need_program("qemu-system-aarch64", "qemu-system-arm")
    need_program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    need_program("apt-get", "apt")
    source = tmp_path / "toggle.c"
    source.write_text(ARM)
    specs = ["debian:bookworm/cloud-arm64", "debian:bookworm-backports/cloud-arm64"]
    # A recording holds a processor: not while it downloads.
    for spec in specs:
        need_debian(spec)
    kernels = [f"{label}={spec}" for label, spec in zip("ab", specs, strict=True)]
    command = ["record", *(x for kernel in kernels for x in ("--kernel", kernel)), "--ops", "60000"]
    command += [*RESTORED, "--collector", "perf"]
    session = tmp_path / "arm.profdiff"
    profdiff(*command, "-o", session, "--", source)
    runs = Session.open(session).manifest.runs
    assert [run.collector for run in runs] == ["perf", "perf"]
    for run in runs:
        assert run.sampling
        assert run.sampling.events == ["cycles", "instructions"]
        assert run.sampling.fallback is None
        assert run.sampling.virtual_time
    shown = profdiff("report", session, "--width", "140").stdout
    assert "cycles are QEMU's virtual time" in shown
    data = json.loads(profdiff("report", session, "--json", "-").stdout)
    jsonschema.validate(data, SCHEMA)
    cycles, instructions = data["metrics"]
    assert (cycles["metric"], instructions["metric"]) == ("cycles", "instructions")
    # -icount shift=0: one instruction takes one nanosecond, which QEMU's PMU calls a cycle.
    for label in ("a", "b"):
        assert cycles["totals"][label] == pytest.approx(instructions["totals"][label], rel=0.02)
    by_name = {row["name"]: row for row in cycles["functions"]}
    assert by_name["change_pte_range"]["samples"]["a"] > 20
    assert "CPI a" in shown
