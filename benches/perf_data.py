"""From perf.data to folded stacks: profdiff beside its peers, on a recording made on the spot.

    python benches/perf_data.py [--install-peers] [--flamegraph FOLDER]

Records the whole machine with a software clock and call chains while a mixed load runs, until there
are a million samples, then times each program on that file in one go, fastest of its runs. Limits
are the project's: 30 times as fast as stackcollapse-perf.pl, 10 as inferno-collapse-perf (each
behind perf script, as a pipe; one after the other is told as well), 6 as samply; at most twice
the file's size in memory; ten times the samples in at most ten times the time. Exit status 1 if one
is not met. Peers that are missing are skipped by name; --install-peers builds those that are Rust
crates with cargo.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.symbolization._native import PerfData

PROFDIFF = Path(sys.executable).with_name("profdiff")
SHARED = Path(__file__).resolve().parents[2] / "shared"
RATE = Path("/proc/sys/kernel/perf_event_max_sample_rate")
# Each a part of the load, in turn: page cache, many small processes, an interpreter, pipes.
LOAD = [
    ["find", "/usr", "-xdev", "-newer", "/etc/hostname"],
    ["tar", "-cf", "/dev/null", "--exclude=*.debug", "/usr/share/perl"],
    [sys.executable, "-c", "import json; json.dumps([str(n) for n in range(300000)])"],
    ["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10; do ls -l /usr/lib | sort | md5sum; done"],
    ["git", "-C", str(Path(__file__).parent), "log", "--stat", "-30"],
]


def main() -> int:
    """Record, time, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="use this recording, or keep it there")
    parser.add_argument("--peers", type=Path, default=cache_folder("peers") / "bin")
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--flamegraph", type=Path, help="a checkout of FlameGraph")
    options = parser.parse_args()
    if options.install_peers:
        for crate in ("inferno", "samply"):
            root = str(options.peers.parent)
            subprocess.run(["cargo", "install", "-q", crate, "--root", root], check=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        large = options.keep or folder / "large.perf.data"
        if not large.is_file():
            record(large, options.samples)
        small = folder / "small.perf.data"
        record(small, options.samples // 10)
        print_machine()
        met = [*speed(large, folder, options), memory(large, folder), scaling(small, large, folder)]
        met += fixtures(folder)
    return 0 if all(met) else 1


def record(file: Path, samples: int) -> None:
    """A recording of the whole machine with at least so many samples."""
    before = RATE.read_text()
    period, seconds = 45_000, 1 + samples // 44_000
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-a", "-g", "-c", str(period)]
    # Not where the kernel is told never to throttle: then no rate can be set either.
    with contextlib.suppress(OSError):
        RATE.write_text("100000")
    try:
        with load():
            subprocess.run([*command, "-o", file, "--", "sleep", str(seconds)], check=True)
    finally:
        with contextlib.suppress(OSError):
            RATE.write_text(before)
    data = PerfData.open(str(file))
    told = data.statistics["samples"]
    if told < samples * 0.95:
        raise SystemExit(f"only {told:,} samples in {seconds} s: this machine is too slow or small")
    size = file.stat().st_size
    print(f"recorded {told:,} samples, {size / 1e6:.0f} MB, {size / told:.0f} bytes each")


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Two processes that keep the processors busy."""
    code = (
        "import itertools, subprocess, sys\n"
        "for command in itertools.cycle(eval(sys.argv[1])):\n"
        "    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    )
    there = [command for command in LOAD if shutil.which(command[0])]
    start = [sys.executable, "-c", code]
    workers = [
        subprocess.Popen([*start, repr(there[n:] + there[:n])], start_new_session=True)
        for n in range(2)
    ]
    try:
        yield
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, 15)
            worker.wait()


def fastest(work: Callable[[], object], runs: int) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def pipe(*commands: list[str], output: Path) -> None:
    """Run commands as a pipe into a file."""
    processes: list[subprocess.Popen[bytes]] = []
    with output.open("wb") as file:
        for number, command in enumerate(commands):
            last = number == len(commands) - 1
            process = subprocess.Popen(
                command,
                stdin=processes[-1].stdout if processes else subprocess.DEVNULL,
                stdout=file if last else subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            processes.append(process)
        for process in processes[:-1]:
            if process.stdout:
                process.stdout.close()
        for process in processes:
            if process.wait() not in (0, -13):
                raise SystemExit(f"{process.args} failed: its time says nothing")


def speed(recording: Path, folder: Path, options: argparse.Namespace) -> list[bool]:
    """Profdiff and the peers, from the file to folded stacks."""
    out = folder / "out"
    own_command = [str(PROFDIFF), "diff", str(recording), "--folded", str(out)]
    own = fastest(lambda: subprocess.run(own_command, check=True), options.runs + 2)
    print(f"{'profdiff':52} {own:7.2f} s")
    script = ["perf", "script", "-i", str(recording)]
    text = folder / "text"
    printed = fastest(lambda: pipe(script, output=text), 1)
    met = []
    for name, program, limit in (
        ("stackcollapse-perf.pl", find("stackcollapse-perf.pl", options.flamegraph), 30),
        ("inferno-collapse-perf", find("inferno-collapse-perf", options.peers), 10),
    ):
        if program is None:
            print(f"{name:52} skipped: not here")
            continue
        runs = 1 if limit == 30 else options.runs
        together = fastest(lambda p=program: pipe(script, [p], output=out), runs)
        met.append(tell(f"perf script | {name}", together, own, limit))
        alone = fastest(lambda p=program: pipe([p, str(text)], output=out), runs)
        tell(f"perf script, then {name}", printed + alone, own, limit)
    samply = find("samply", options.peers)
    if samply is None:
        print(f"{'samply import':52} skipped: not here")
    else:
        command = [samply, "import", "--save-only", "-o", str(folder / "s.json.gz"), str(recording)]
        seconds = fastest(lambda: pipe(command, output=out), options.runs)
        met.append(tell("samply import", seconds, own, 6))
    return met


def find(name: str, folder: Path | None) -> str | None:
    """A program in a folder, or on PATH."""
    if folder and (folder / name).is_file():
        return str(folder / name)
    return shutil.which(name)


def tell(name: str, seconds: float, own: float, limit: float) -> bool:
    """A line with the ratio; whether the limit is met."""
    ratio = seconds / own
    met = ratio >= limit
    verdict = "met" if met else "NOT met"
    print(f"{name:52} {seconds:7.2f} s  {ratio:5.1f} times, wanted {limit:g}: {verdict}")
    return met


def memory(recording: Path, folder: Path) -> bool:
    """Peak memory of profdiff: of a process's children, for a child starts as large as it."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    command = [sys.executable, "-c", code, str(PROFDIFF), "diff", str(recording)]
    command += ["--folded", str(folder / "out")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ratio = int(text) * 1024 / recording.stat().st_size
    print(f"memory: {int(text) / 1024:.0f} MiB, {ratio:.2f} times the file, at most 2")
    return ratio <= 2


def scaling(small: Path, large: Path, folder: Path) -> bool:
    """Time in all of the samples against that in a tenth of them, from file to folded stacks."""
    seconds, reading, counts = [], [], []
    for file in (small, large):
        counts.append(PerfData.open(str(file)).statistics["samples"])
        reading.append(fastest(lambda f=file: PerfData.open(str(f)), 5))
        command = [str(PROFDIFF), "diff", str(file), "--folded", str(folder / "out")]
        seconds.append(fastest(lambda c=command: subprocess.run(c, check=True), 5))
    more = counts[1] / counts[0]
    print(
        f"{counts[0]:,} samples {seconds[0]:.2f} s, {counts[1]:,} samples {seconds[1]:.2f} s: "
        f"{more:.1f} times the samples, {seconds[1] / seconds[0]:.1f} times the time "
        f"(reading alone {reading[1] / reading[0]:.1f})"
    )
    return seconds[1] / seconds[0] <= more


def fixtures(folder: Path) -> list[bool]:
    """With inlined kernel functions, the interpreter's start included."""
    met = []
    for version in ("v6.12.107", "v6.18.15"):
        profile = SHARED / f"perf-data/mprotect-{version}.perf.data"
        elf = SHARED / f"kernels/{version}/vmlinux.zst"
        if not profile.is_file() or not elf.is_file():
            print(f"fixture {version}: skipped, ../shared is not here")
            continue
        command = [str(PROFDIFF), "diff", str(profile), "--vmlinux", str(elf)]
        command += ["--folded", str(folder / "out")]
        for name, limit in (("cold", 1.0), ("warm", 0.2)):
            cache = folder / "cache"

            def run(cache: Path = cache, cold: bool = name == "cold") -> None:
                if cold:
                    shutil.rmtree(cache, ignore_errors=True)
                environment = {**os.environ, "PROFDIFF_CACHE": str(cache)}
                subprocess.run(command, check=True, env=environment)  # noqa: B023 - run at once

            seconds = fastest(run, 5)
            met.append(seconds < limit)
            verdict = "met" if met[-1] else "NOT met"
            print(f"fixture {version}, {name}: {seconds:.3f} s, limit {limit:g}: {verdict}")
    return met


def print_machine() -> None:
    """What the figures come from."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((x.split(":")[1].strip() for x in info.splitlines() if "model name" in x), "?")
    perf = subprocess.run(["perf", "version"], capture_output=True, text=True, check=True).stdout
    print(f"{model}, {os.cpu_count()} processors, {perf.strip()}, Linux {os.uname().release}")


if __name__ == "__main__":
    sys.exit(main())
