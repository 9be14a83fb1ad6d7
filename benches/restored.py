"""What a cell costs: runs in restored machines against runs in booted ones, in turn.

    python benches/restored.py [--kernel SPEC]... [--qemu PROGRAM] [--rounds N] [--jobs N]
                               [--cpus N] [--no-call-tree] [--append ARGUMENTS]

A round makes as many booted runs as there are jobs, then RESTORED times as many restored ones. The
machines are saved beforehand; that is a boot of each kernel, and is told. Exits with 1 when the
restored runs are less than 10 times as many a minute.
"""

import argparse
import itertools
import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.collectors import registry
from profdiff.collectors.architecture import of_image
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest import initramfs
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.collectors.recorder import Recorder, RunJob, Running
from profdiff.collectors.records import Guest
from profdiff.collectors.workload.workload import prepare

LEAST = 10
RESTORED = 10
ROOT = Path(__file__).resolve().parent.parent
WORKLOAD = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"
KERNELS = ["../shared/kernels/v6.12.107", "../shared/kernels/v7.1.8"]


def processor_seconds() -> float:
    """What ended children took so far, and this process."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def make(
    recorder: Recorder, kernels: list[KernelFiles], count: int, jobs: int, cpus: int, folder: Path
) -> tuple[float, float, set[int]]:
    """Make ``count`` runs, ``jobs`` at a time: wall and processor seconds of all, and what they
    counted."""
    waiting = list(itertools.islice(itertools.cycle(kernels), count))
    active: list[tuple[Running, Path]] = []
    counted: set[int] = set()
    start, before = time.monotonic(), processor_seconds()
    while waiting or active:
        while waiting and len(active) < jobs:
            place = Path(tempfile.mkdtemp(dir=folder))
            job = RunJob(waiting.pop(0), recorder.workload.guest_argv, cpus, place)
            active.append((recorder.start(job), place))
        for one in list(active):
            if one[0].process.poll():
                active.remove(one)
                result = one[0].finish()
                if result.failure:
                    raise SystemExit(f"the guest failed: {result.failure.message}")
                counted.add(int(Counts.load(one[1] / "counts.bin").count.sum()))
        if active:
            select.select(list(listening(active)), [], [], 0.1)
    return time.monotonic() - start, processor_seconds() - before, counted


def listening(active: list[tuple[Running, Path]]) -> Iterator[int]:
    """What tells that a run has something to say."""
    for running, _ in active:
        yield from getattr(running.process, "listening", ())


def main() -> int:
    """Run the rounds and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--qemu", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--no-call-tree", action="store_true")
    parser.add_argument("--append", default="")
    parser.add_argument("--words", default="400 50")
    options = parser.parse_args()

    specs = options.kernel or [str(ROOT / one) for one in KERNELS]
    kernels = [parse(spec).locate(f"k{n}") for n, spec in enumerate(specs)]
    images = [kernel.image for kernel in kernels if kernel.image]
    exact = registry.collector("exact")
    architecture = of_image(images[0])
    qemu = exact.emulator(architecture, options.qemu)
    folders = cache_folder("workloads"), initramfs.guest_resources()
    workload = prepare([str(WORKLOAD), *options.words.split()], [], *folders, architecture)
    settings = {"call_tree": not options.no_call_tree}
    print(f"{qemu.version}, {options.jobs} at a time, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        recorders = {}
        for restored in (False, True):
            guest = Guest(
                memory=512, append=options.append, settle=5, timeout=600, restored=restored
            )
            recorders[restored] = Recorder(
                exact, settings, workload, guest, qemu, observe=True, folder=folder / str(restored)
            )
        start = time.monotonic()
        for kernel in kernels:
            machine = recorders[True].machine(kernel, options.cpus)
            print(f"{kernel.spec}: {'saved' if machine.find() else 'to be saved'} before")
            machine.saved(folder)
        print(f"saving: {time.monotonic() - start:.1f} s")
        walls, cpus = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}
        runs = {False: options.jobs, True: options.jobs * RESTORED}
        for number in range(options.rounds):
            line = f"round {number + 1}:"
            for restored, count in runs.items():
                wall, cpu, counted = make(
                    recorders[restored], kernels, count, options.jobs, options.cpus, folder
                )
                walls[restored] += wall / count
                cpus[restored] += cpu / count
                what = "restored" if restored else "booted"
                line += f" {what} {count}: {wall:.1f} s, {cpu:.1f} s of processors,"
                line += f" {' '.join(f'{one:,}' for one in sorted(counted))} instructions;"
            print(line.rstrip(";"), flush=True)
    rates = {restored: 60 * options.rounds / wall for restored, wall in walls.items()}
    ratio = rates[True] / rates[False]
    print(f"cells a minute: booted {rates[False]:.1f}, restored {rates[True]:.1f}")
    print(
        f"restored: {ratio:.1f} times as many (wanted: {LEAST}), processors: "
        f"{cpus[False] / cpus[True]:.1f} times less"
    )
    return 0 if ratio >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
