"""What it costs to see every access: processor time of the window with --collector sharing, as a
ratio to flat counts (--collector exact --no-call-tree), on the same guest with two vCPUs.

    python benches/sharing_overhead.py [--kernel FOLDER] [--pairs N]

Each workload (benches/sharing/*.c) runs with many operations and with few, and the difference is
the window's. Then the guest boots with the collector and without any. Exits with 1 when the median
ratio of a workload is above 3, or that of boots above 1.15.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from profdiff.base.cache import cache_folder
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.guest import initramfs
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder, RunJob
from profdiff.collectors.records import Guest
from profdiff.collectors.workload.workload import prepare

LIMIT, BOOT_LIMIT = 3.0, 1.15
FEW, MANY = 200, {"open": 60_200, "read": 150_200, "mmap": 20_200, "faults": 2_200}
OPTIONS = {"exact": {"call_tree": False}, "sharing": {"line_size": 64}}
ALL_OPTIONS: dict[str, dict[str, object]] = {**OPTIONS, "timed": {"boot_runs": 1, "metrics": ()}}
HERE = Path(__file__).resolve().parent
GUEST = Guest(memory=512, append="", settle=0, timeout=600, restored=True)


def seconds(
    image: Path, collector: str, workload: str, ops: int, folder: Path, guest: Guest = GUEST
) -> float:
    """Processor time of a guest, from its start to its end."""
    one = registry.collector(collector)
    qemu = one.emulator(ARCHITECTURES[0], None)
    folders = cache_folder("workloads"), initramfs.guest_resources()
    source = str(HERE / f"sharing/{workload}.c")
    prepared = prepare([source], [], *folders, qemu.architecture)
    argv = (*prepared.guest_argv[:1], "processes", "2", str(ops))
    options = ALL_OPTIONS[collector]
    recorder = Recorder(one, options, prepared, guest, qemu, False, folder / "work")
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        before = os.times()
        kernel = KernelFiles("k", str(image), image)
        run = recorder.start(RunJob(kernel, argv, 2, Path(temporary)))
        while not run.process.poll():
            time.sleep(0.02)
        after = os.times()
        result = run.finish()
    if result.failure:
        raise SystemExit(f"{workload}: the guest failed: {result.failure.message}")
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def boots(image: Path, folder: Path, pairs: int) -> float:
    """The median of how much longer a guest takes that boots with the collector."""
    booted = msgspec.structs.replace(GUEST, restored=False)
    ratios = []
    for _ in range(pairs):
        shared, plain = (
            seconds(image, collector, "read", FEW, folder, booted)
            for collector in ("sharing", "timed")
        )
        ratios.append(shared / plain)
    ratio = statistics.median(ratios)
    print(f"boot     {plain:.2f} s, with sharing {shared:.2f} s; ratio {ratio:.2f}", end=" ")
    print(f"(limit {BOOT_LIMIT:g})", flush=True)
    return ratio


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=Path, default=HERE.parent.parent / "shared/kernels/v7.1.8")
    parser.add_argument("--pairs", type=int, default=3)
    asked = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder, image = Path(temporary), asked.kernel / "bzImage"
        for workload, many in MANY.items():
            ratios, each = [], {"exact": [0.0], "sharing": [0.0]}
            for _ in range(asked.pairs):
                taken = {}
                for collector in OPTIONS:
                    long, short = (
                        seconds(image, collector, workload, ops, folder) for ops in (many, FEW)
                    )
                    taken[collector] = long - short
                    each[collector].append(taken[collector])
                ratios.append(taken["sharing"] / taken["exact"])
            ratio = statistics.median(ratios)
            missed |= ratio > LIMIT
            flat, shared = (min(values[1:]) for values in each.values())
            print(
                f"{workload:8} counts {flat:.2f} s, sharing {shared:.2f} s for {many - FEW:,} "
                f"operations of two vCPUs; ratio {ratio:.2f} (limit {LIMIT:g})",
                flush=True,
            )
        missed |= boots(image, folder, asked.pairs) > BOOT_LIMIT
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
