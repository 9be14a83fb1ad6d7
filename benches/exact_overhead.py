"""What counting costs: one guest with the plugin and without, in turn, as a ratio.

    python benches/exact_overhead.py [--kernel FOLDER] [--qemu PROGRAM] [--pairs N] [--cpus N]

The window holds at least 400 million instructions. Exits with 1 when the median ratio of the wall
times is above the limit, which is for one vCPU.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from profdiff.cache import cache_folder
from profdiff.collectors import initramfs
from profdiff.collectors.counts import Counts
from profdiff.collectors.exact import BASE_APPEND
from profdiff.collectors.guest_run import GuestRun, RunFailure
from profdiff.collectors.qemu import Qemu, find_qemu
from profdiff.collectors.workload import prepare

LIMIT = 1.2
MIN_WINDOW = 400_000_000
ROOT = Path(__file__).resolve().parent.parent
WORKLOAD = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"


def guest_seconds(
    qemu: Qemu, image: Path, archive: Path, *, cpus: int, plugin: bool
) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds, and instructions counted (0 without the plugin), of one guest."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        counts = folder / "counts.bin"
        arguments = qemu.arguments(
            image=image,
            initramfs=archive,
            append=BASE_APPEND,
            memory=512,
            cpus=cpus,
            folder=folder,
            counts=counts if plugin else None,
        )
        cpu = os.times()
        start = time.monotonic()
        guest = GuestRun(arguments, folder, timeout=600)
        while not guest.poll():
            time.sleep(0.02)
        wall = time.monotonic() - start
        result = guest.result()
        if isinstance(result, RunFailure):
            raise SystemExit(f"the guest failed: {result.message}")
        after = os.times()
        used = after.children_user + after.children_system - cpu.children_user - cpu.children_system
        return wall, used, int(Counts.load(counts).count.sum()) if plugin else 0


def main() -> int:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=Path, default=ROOT / "../shared/kernels/v6.18.15")
    parser.add_argument("--qemu", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cpus", type=int, default=1)
    options = parser.parse_args()

    qemu = find_qemu(options.qemu)
    workload = prepare(
        [str(WORKLOAD), "400", "20000"],
        [],
        cache_folder("workloads"),
        initramfs.guest_resources(),
    )
    image = options.kernel / "bzImage"
    print(f"{qemu.version}, plugin API {qemu.plugin_api}, {image}, {options.pairs} pairs")
    wall_ratios, cpu_ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "initramfs.cpio.gz"
        initramfs.build(archive, workload.files, workload.guest_argv, settle=5)
        for pair in range(options.pairs):
            without = guest_seconds(qemu, image, archive, cpus=options.cpus, plugin=False)
            with_plugin = guest_seconds(qemu, image, archive, cpus=options.cpus, plugin=True)
            if with_plugin[2] < MIN_WINDOW:
                raise SystemExit(f"the window holds only {with_plugin[2]:,} instructions")
            wall_ratios.append(with_plugin[0] / without[0])
            cpu_ratios.append(with_plugin[1] / without[1])
            print(
                f"pair {pair + 1}: without {without[0]:.2f} s, with {with_plugin[0]:.2f} s: "
                f"wall {wall_ratios[-1]:.3f}, CPU {cpu_ratios[-1]:.3f} times "
                f"({with_plugin[2]:,} instructions)"
            )
    median = statistics.median(wall_ratios)
    met = median <= LIMIT or options.cpus > 1
    limit = f"limit {LIMIT}: {'met' if met else 'MISSED'}" if options.cpus == 1 else "no limit"
    print(
        f"median: wall {median:.3f} times ({limit}), CPU {statistics.median(cpu_ratios):.3f} times"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
