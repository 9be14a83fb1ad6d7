"""Text of perf script and folded stacks: the same numbers as the perf.data file they came from."""

import gzip
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perf_data.stacks import UNKNOWN, Addresses, own_stacks, symbol_addresses
from support import error_line, need_kernel, need_profile, need_program, profdiff

from profdiff.symbolization._native import NativeError, PerfData, PerfText, is_perf_data
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.symbolizer import symbolize

FIELDS = "comm,pid,tid,time,period,event,ip,sym,dso"
# The fixtures' distance of two samples, in ns (their README.md).
PERIOD = 5000
Numbers = Counter[str]


class Fixture:
    """A fixture profile, its kernel's debug ELF, and what perf script prints of both."""

    def __init__(self, version: str, folder: Path) -> None:
        self.file = need_profile(version)
        need_program("perf", "linux-perf")
        need_program("nm", "binutils")
        self.elf = need_kernel(version) / "vmlinux"
        self.names = one_name_each(symbol_addresses([self.elf]))
        self.text = folder / "script.txt"
        self.text.write_text(self.script())
        self.data = PerfData.open(str(self.file))
        self.own = Counter[str]()
        chains = symbolize(
            Places.of_samples(self.data), KernelSymbols(self.elf), Binaries(local=False), cache=None
        )
        for (_, frames), samples in own_stacks(self.data, chains).items():
            self.own[self.name(frames[-1])] += samples * PERIOD

    def script(self, *options: str) -> str:
        """What perf script prints, with names from the symbol table."""
        command: list[str | Path] = ["perf", "script", "-i", self.file, "-k", self.elf]
        command += ["--no-inline", "-F", FIELDS, *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def name(self, symbol: str) -> str:
        """The same name for all symbols of one address."""
        return self.names.get(symbol, symbol)


def one_name_each(addresses: Addresses) -> dict[str, str]:
    """For each symbol, the first name in the alphabet of those that begin at its first address."""
    first: dict[int, str] = {}
    for name, starts in sorted(addresses.items()):
        first.setdefault(min(starts), name)
    return {name: first[min(starts)] for name, starts in addresses.items()}


@pytest.fixture(scope="module", params=["v6.12.107", "v6.18.15"])
def fixture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    """Each of the fixture profiles."""
    return Fixture(request.param, tmp_path_factory.mktemp("text"))


def self_weights(text: PerfText, fixture: Fixture) -> Numbers:
    """Weights by innermost function."""
    found: Numbers = Counter()
    stacks = text.stacks.entry_stack
    for stack, weight in zip(stacks.tolist(), text.entry_weight.tolist(), strict=True):
        function = int(text.stacks.function[stack])
        unresolved = text.function_unresolved[function]
        found[UNKNOWN if unresolved else fixture.name(text.function_name[function])] += weight
    return found


def collapsed(script: str) -> str:
    """Folded stacks as stackcollapse-perf.pl --kernel makes them of perf script's text."""
    found: Numbers = Counter()
    for block in script.split("\n\n"):
        lines = block.splitlines()
        if not lines:
            continue
        frames = [lines[0].split()[0]]
        for line in reversed(lines[1:]):
            _, symbol, owner = line.split(maxsplit=2)
            frames.append(symbol + ("_[k]" if owner == "([kernel.kallsyms])" else ""))
        found[";".join(frames)] += 1
    return "".join(f"{stack} {count}\n" for stack, count in found.items())


@pytest.mark.kernel
def test_perf_script_has_the_weights_of_the_recording(fixture: Fixture) -> None:
    text = PerfText.open(str(fixture.text))
    assert text.format == "perf script"
    assert text.events == [one.name for one in fixture.data.events]
    assert text.unknown_lines == 0
    assert text.sides_known
    assert int(text.entry_samples.sum()) == fixture.data.statistics["samples"]
    assert int(text.entry_weight.sum()) == int(fixture.data.entry_weight.sum())
    assert self_weights(text, fixture) == fixture.own
    # The kernel's symbols are the kernel's, and nothing else is.
    for name, owner, kernel, unresolved in zip(
        text.function_name,
        text.function_object,
        text.function_in_kernel,
        text.function_unresolved,
        strict=True,
    ):
        assert unresolved == (name == "[unknown]")
        if not unresolved:
            assert kernel == (owner == "vmlinux") == (name in fixture.names)


@pytest.mark.kernel
def test_samples_without_their_callers_are_one_line(fixture: Fixture, tmp_path: Path) -> None:
    path = tmp_path / "leaves.txt"
    path.write_text(fixture.script("-G"))
    text = PerfText.open(str(path))
    assert int(text.stacks.depth.max()) == 0
    assert text.unknown_lines == 0
    assert self_weights(text, fixture) == fixture.own


@pytest.mark.kernel
def test_folded_stacks_have_the_samples_of_the_recording(fixture: Fixture, tmp_path: Path) -> None:
    path = tmp_path / "stacks.folded"
    path.write_text(collapsed(fixture.text.read_text()))
    text = PerfText.open(str(path))
    assert text.format == "folded stacks"
    assert text.sides_known
    samples = {name: weight // PERIOD for name, weight in fixture.own.items()}
    assert self_weights(text, fixture) == samples


@pytest.mark.kernel
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_text_may_be_packed(fixture: Fixture, tmp_path: Path, suffix: str) -> None:
    packed = tmp_path / f"script.txt{suffix}"
    if suffix == ".gz":
        packed.write_bytes(gzip.compress(fixture.text.read_bytes()))
    else:
        command = [need_program("zstd"), "-q", fixture.text, "-o", packed]
        subprocess.run(command, check=True)
    one, other = PerfText.open(str(fixture.text)), PerfText.open(str(packed))
    assert one.function_name == other.function_name
    assert np.array_equal(one.entry_weight, other.entry_weight)
    assert np.array_equal(one.stacks.parent, other.stacks.parent)


def functions(document: dict[str, Any], label: str) -> dict[str, tuple[int, int]]:
    """(self, total) by name, of what has any."""
    (metric,) = document["metrics"]
    found: dict[str, tuple[int, int]] = {}
    for function in metric["functions"]:
        own, total = function["self"][label], function["total"][label]
        before = found.get(function["name"], (0, 0))
        if total:
            found[function["name"]] = (before[0] + own, before[1] + total)
    return found


@pytest.mark.kernel
def test_the_command_line_reads_what_perf_script_printed(fixture: Fixture) -> None:
    done = profdiff("diff", f"text={fixture.text}", "--json", "-")
    document = json.loads(done.stdout)
    (metric,) = document["metrics"]
    assert metric["metric"] == "cpu-clock"
    assert metric["totals"]["text"] == sum(fixture.own.values())
    found: Numbers = Counter()
    for name, (own, _) in functions(document, "text").items():
        found[fixture.name(name)] += own
    # Compiler suffixes are folded away there.
    expected: Numbers = Counter()
    for name, weight in fixture.own.items():
        if name != UNKNOWN:
            expected[fixture.name(name.partition(".")[0])] += weight
    assert +found == expected


@pytest.mark.kernel
def test_folded_stacks_come_back_as_they_were(fixture: Fixture, tmp_path: Path) -> None:
    """With threads' names, which are the stacks' roots there, and inlined functions."""
    out = tmp_path / "out.folded"
    symbols = ["--vmlinux", fixture.elf]
    profdiff("diff", f"x={fixture.file}", *symbols, "--folded", out, "--json", tmp_path / "x.json")
    before = json.loads((tmp_path / "x.json").read_text())
    after = json.loads(profdiff("diff", f"x={out}", "--json", "-").stdout)
    there, back = functions(before, "x"), functions(after, "x")
    threads = set(back) & {"mprot", "perf", "perf-exec", "swapper"}
    assert threads
    assert sum(back[thread][1] for thread in threads) == before["metrics"][0]["totals"]["x"]
    # Addresses without a function stand beside the functions, or come back as one.
    unnamed = {name for name in back if name.startswith("[unresolved: ")}
    unresolved = sum(entry["self"]["x"] for entry in before["metrics"][0]["unresolved"])
    told = sum(entry["self"]["x"] for entry in after["metrics"][0]["unresolved"])
    assert told + sum(back[name][0] for name in unnamed) == unresolved
    left = {name: numbers for name, numbers in back.items() if name not in threads | unnamed}
    assert left == there
    # What was written once is written the same again.
    again = tmp_path / "again.folded"
    profdiff("diff", out, "--folded", again)
    assert again.read_bytes() == out.read_bytes()


def test_folded_stacks_of_two_recordings_compare_as_those_do(tmp_path: Path) -> None:
    one, other = tmp_path / "one.folded", tmp_path / "other.folded"
    one.write_text("a;b_[k] 10\na;c 5\n")
    other.write_text("a;b_[k] 4\na;c 5\na 1\n")
    done = profdiff("diff", f"one={one}", f"other={other}", "--json", "-")
    document = json.loads(done.stdout)
    assert document["metrics"][0]["totals"] == {"one": 15, "other": 10}
    sides = {f["name"]: f["side"] for f in document["metrics"][0]["functions"]}
    assert sides == {"a": "user", "b": "kernel", "c": "user"}
    assert functions(document, "one") == {"a": (0, 15), "b": (10, 10), "c": (5, 5)}
    assert functions(document, "other") == {"a": (1, 10), "b": (4, 4), "c": (5, 5)}


ERRORS = {
    "negative": ("a;b 3\na;b -1\n", "line 2: a negative count"),
    "missing": ("a;b 3\n\n# remark\na;b\n", "line 4: no count"),
    "missing at once": ("a;b\n", "line 1: no count"),
    "fractional": ("a;b 1.5\n", "line 1: the count is not a whole number"),
    "enormous": (f"a;b {2**64}\n", "line 1: the count is not a whole number"),
    "two": ("a;b 3 4\n", "line 1: two counts: give the folded stacks before difffolded.pl"),
    "no frame": ("a 1\n;; 4\n", "line 2: no stack"),
    "nothing": ("", "it is empty"),
    "only remarks": ("# a\n\n#b\n", "it is empty"),
    "prose": ("Samples: 12 of event\nand more\n", "its first line begins"),
    "control": ("a\x01;b 3\n", "its first line begins"),
}


@pytest.mark.parametrize(("content", "message"), ERRORS.values(), ids=ERRORS)
def test_text_that_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "given.txt"
    path.write_text(content)
    with pytest.raises(NativeError, match=r"given\.txt") as caught:
        PerfText.open(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert message in error_line(profdiff("diff", path, status=2))


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(bytes(range(256)) * 40)
    line = error_line(profdiff("diff", path, status=2))
    assert str(path) in line
    assert "neither a perf.data file nor text" in line


def test_an_absent_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        assert str(path) in error_line(profdiff("diff", path, status=2))


@pytest.mark.kernel
def test_symbols_are_not_for_text(fixture: Fixture) -> None:
    result = profdiff("diff", fixture.text, "--vmlinux", fixture.elf, status=2)
    assert "are for perf.data files" in error_line(result)


@pytest.mark.kernel
def test_text_is_not_taken_for_a_recording(fixture: Fixture) -> None:
    assert is_perf_data(str(fixture.file))
    assert not is_perf_data(str(fixture.text))
