"""What is read of perf.data files is what perf itself reads: stacks, weights, names."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from perf_data.stacks import (
    Addresses,
    assert_equal_stacks,
    kallsyms_addresses,
    own_stacks,
    perf_stacks,
    symbol_addresses,
)
from support import frames_of, need_kernel, need_profile, need_program

from profdiff.symbolization._native import PerfData
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.running_kernel import running_kallsyms
from profdiff.symbolization.symbolizer import symbolize

pytestmark = [pytest.mark.kernel, pytest.mark.kernel]

FUNCTION = "commit_anon_folio_batch"
FIXTURES = ["v6.12.107", "v6.18.15"]


@dataclass(frozen=True)
class Recording:
    """A perf.data file, read and symbolized; ``options`` show perf the same symbols."""

    file: Path
    data: PerfData
    chains: Chains
    options: list[str | Path]
    addresses: Addresses


def fixture(version: str) -> Recording:
    """A fixture profile with its kernel's debug ELF."""
    file = need_profile(version)
    elf = need_kernel(version) / "vmlinux"
    data = PerfData.open(str(file))
    chains = symbolize(Places.of_samples(data), KernelSymbols(elf), Binaries(local=False), None)
    return Recording(file, data, chains, ["-k", elf], symbol_addresses([elf]))


WORKLOAD = """
import json, os, subprocess, sys
for n in range(3):
    json.dumps(list(range(100000)))
    if os.fork() == 0:
        sorted(os.urandom(8) for _ in range(30000))
        os._exit(0)
    subprocess.run([sys.executable, "-c", "print(sum(n * n for n in range(400000)))"])
    os.wait()
"""


def recorded(folder: Path) -> Recording:
    """A recording made now: forks, execs, shared libraries, kernel and user."""
    file = folder / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-c", "250000", "-g", "-o", file, "--"]
    command += [sys.executable, "-c", WORKLOAD]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 or not file.is_file():
        pytest.skip(f"perf may not record here: {result.stderr.strip()[-200:]}")
    if not running_kallsyms():
        pytest.skip("/proc/kallsyms hides its addresses here (kptr_restrict)")
    data = PerfData.open(str(file))
    binaries = Binaries()
    chains = symbolize(
        Places.of_samples(data), KernelSymbols(kallsyms=running_kallsyms()), binaries, None
    )
    found = [binaries.find(path, build_id) for _, path, build_id, _ in data.objects]
    files = [path for path in found if isinstance(path, Path)]
    addresses = symbol_addresses([*files, *map(binaries.debug_file, files)])
    for name, starts in kallsyms_addresses(running_kallsyms()).items():
        addresses.setdefault(name, set()).update(starts)
    return Recording(file, data, chains, [], addresses)


@pytest.fixture(scope="module", params=[*FIXTURES, "recorded"])
def recording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Recording:
    """Each of the fixture profiles, and one made here."""
    need_program("perf", "linux-perf")
    need_program("nm", "binutils")
    folder = tmp_path_factory.mktemp("perf")
    return recorded(folder) if request.param == "recorded" else fixture(request.param)


def test_stacks_are_those_of_perf_script(recording: Recording) -> None:
    samples = perf_stacks(recording.file, *recording.options)
    assert len(samples) == recording.data.statistics["samples"]
    own = own_stacks(recording.data, recording.chains)
    corrupt = recording.data.statistics["corrupt_chains"]
    assert_equal_stacks(own, samples, recording.addresses, corrupt)


@pytest.mark.parametrize("children", [False, True], ids=["self", "children"])
def test_percentages_are_those_of_perf_report(recording: Recording, children: bool) -> None:
    """perf prints two decimals. Functions that it names because a call that does not return stands
    in front of them are compared by the stacks above."""
    theirs = report(recording, children)
    if children:
        for _, frames in perf_stacks(recording.file, *recording.options):
            for name, offset in frames[:-1]:
                if offset == 0:
                    del theirs[name]
    own = percentages(recording, children)
    # perf leaves out corrupt call chains.
    told = recording.data.statistics
    # And now and then it does not know a mapping that is just being made.
    apart = 1 + (told["corrupt_chains"] if children else 0)
    bound = 0.011 + (100 * apart / told["samples"] if recording.options == [] else 0)
    unequal = {
        name: (share, own[name])
        for name, share in theirs.items()
        if abs(share - own[name]) > bound
        and not other_name(name, share, own, recording.addresses, bound)
    }
    assert not unequal
    assert len(theirs) > 20


def report(recording: Recording, children: bool) -> Counter[str]:
    """Percent by symbol, of perf report."""
    command = ["perf", "report", "-i", recording.file, *recording.options, "--stdio", "--no-inline"]
    command += ["-g", "none", "--children" if children else "--no-children", "-F"]
    command += ["overhead_children,sym" if children else "overhead,sym", "-t", "\x01"]
    command += ["-w", "0", "--percent-limit", "0", "--no-demangle"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in text.splitlines():
        match = re.match(r"\s*([\d.]+)%?\s*\x01\[[^]]\] (\S+)", line)
        # Addresses without a symbol, and PLT entries, which have none in the file.
        if match and not re.fullmatch(r"(0x)?[0-9a-f]{8,}|.*@plt|_init", match[2]):
            found[match[2].partition("@")[0]] += float(match[1])  # type: ignore[assignment]
    return found


def percentages(recording: Recording, children: bool) -> Counter[str]:
    """Percent by symbol, ours; addresses without one are not among them."""
    found: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for (_, frames), samples in own_stacks(recording.data, recording.chains).items():
        for name in set(frames) if children else frames[-1:]:
            weights[name] += samples
    whole = recording.data.statistics["samples"]
    for name, samples in weights.items():
        found[name] = 100 * samples / whole  # type: ignore[assignment]
    return found


def other_name(
    name: str, share: float, own: Counter[str], addresses: Addresses, bound: float
) -> bool:
    """Whether perf gives by this name what we give by one or more others of the same code, or by
    two where a call that does not return ends a function."""
    near = {
        mine
        for mine in own
        for inner in addresses.get(mine, ())
        for start in addresses.get(name, ())
        if abs(inner - start) < 4096
    }
    return any(abs(share - part) <= bound for part in partial_sums([own[mine] for mine in near]))


def partial_sums(parts: list[float]) -> list[float]:
    """Sums of one, two or all of ``parts``."""
    pairs = [a + b for i, a in enumerate(parts) for b in parts[:i]]
    return [*parts, *pairs, sum(parts)]


def test_weights_are_the_events_of_perf(recording: Recording) -> None:
    command = ["perf", "report", "-i", recording.file, "--stdio", "--no-children", "-g", "none"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counted = [int(n) for n in re.findall(r"# Event count \(approx\.\): (\d+)", text)]
    assert sum(counted) == int(recording.data.entry_weight.sum())


def test_an_inlined_function_of_the_kernel_has_its_share() -> None:
    """What perf never shows: 15.5 instructions of each PTE are commit_anon_folio_batch's own (the
    exact collector's figure), one sample each 5,000 instructions."""
    need_program("perf", "linux-perf")
    recording = fixture("v6.18.15")
    chains = recording.chains
    whole = [frames_of(chains, row) for row in range(len(chains))]
    places = [row for row, chain in enumerate(whole) if chain and chain[-1][0] == FUNCTION]
    assert places
    # By the leaf of each sample, with perf script's own addresses.
    command = ["perf", "script", "-i", recording.file, "-F", "ip", "-G"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    leaves = Counter(int(line, 16) for line in result.stdout.split())
    addresses = {int(recording.data.place_address[row]) for row in places}
    hit = sum(count for address, count in leaves.items() if address in addresses)
    assert hit * 5000 / 200_000 == pytest.approx(15.5, rel=0.1)
