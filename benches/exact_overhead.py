"""What counting costs: one guest without the plugin, with it, and with the call tree, in turn, as
ratios to the first.

    python benches/exact_overhead.py [--arch ARCH] [--kernel SPEC] [--qemu PROGRAM] [--pairs N]
                                     [--cpus N]

The window holds at least 400 million instructions. Exits with 1 when a median ratio of the wall
times is above its limit, which is for one vCPU.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.collectors.architecture import named
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest import initramfs
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.guest.delivery import MEMBERS
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.collectors.records import Failure
from profdiff.collectors.workload.workload import prepare

# What the plugin records, and the limits of its wall time.
LIMITS = {
    "x86_64": {"counts": 1.2, "call tree": 2.0},
    "arm64": {"counts": 1.25, "call tree": 1.7},
}
KERNELS = {
    "x86_64": "../shared/kernels/v6.18.15",
    "arm64": "debian:bookworm-backports,arch=arm64",
}
MIN_WINDOW = 400_000_000
ROOT = Path(__file__).resolve().parent.parent
WORKLOAD = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"


def guest_seconds(
    qemu: Qemu, image: Path, archive: Path, *, cpus: int, what: str
) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds, and instructions counted, of one guest. ``what``: of LIMITS, or
    nothing, for no plugin and no count."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        boot = Boot(image, archive, "", memory=512, cpus=cpus)
        options = {"call_tree": what == "call tree"}
        more = Exact().qemu_arguments(qemu, options, folder) if what else []
        arguments = qemu.arguments(boot, folder, more)
        cpu = os.times()
        start = time.monotonic()
        guest = GuestRun(arguments, folder, timeout=600)
        while not guest.poll():
            time.sleep(0.02)
        wall = time.monotonic() - start
        result = guest.result(MEMBERS)
        if isinstance(result, Failure):
            raise SystemExit(f"the guest failed: {result.message}")
        after = os.times()
        used = after.children_user + after.children_system - cpu.children_user - cpu.children_system
        return wall, used, int(Counts.load(folder / "counts.bin").count.sum()) if what else 0


def main() -> int:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", choices=sorted(LIMITS), default="x86_64")
    parser.add_argument("--kernel")
    parser.add_argument("--qemu", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cpus", type=int, default=1)
    options = parser.parse_args()

    architecture, limits = named(options.arch), LIMITS[options.arch]
    assert architecture
    qemu = Exact().emulator(architecture, options.qemu)
    workload = prepare(
        [str(WORKLOAD), "400", "20000"],
        [],
        cache_folder("workloads"),
        initramfs.guest_resources(),
        architecture,
    )
    spec = options.kernel or KERNELS[options.arch]
    image = parse(str(ROOT / spec) if "/" in spec else spec).locate("kernel").image
    assert image
    print(f"{qemu.version}, plugin API {qemu.plugin_api}, {image}, {options.pairs} pairs")
    walls: dict[str, list[float]] = {what: [] for what in limits}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "initramfs.cpio.gz"
        own = {
            "argv": initramfs.nul_separated(workload.guest_argv),
            **Exact().files({}, emulated=True),
        }
        initramfs.build(archive, workload.files, own, 5, architecture)
        for pair in range(options.pairs):
            without = guest_seconds(qemu, image, archive, cpus=options.cpus, what="")
            line = f"pair {pair + 1}: without {without[0]:.2f} s"
            for what, ratios in walls.items():
                wall, cpu, counted = guest_seconds(
                    qemu, image, archive, cpus=options.cpus, what=what
                )
                if counted < MIN_WINDOW:
                    raise SystemExit(f"the window holds only {counted:,} instructions")
                ratios.append(wall / without[0])
                line += f"; {what} {wall:.2f} s: wall {ratios[-1]:.3f}, "
                line += f"CPU {cpu / without[1]:.3f} times"
            print(f"{line} ({counted:,} instructions)", flush=True)
    missed = False
    for what, limit in limits.items():
        median = statistics.median(walls[what])
        within = median <= limit or options.cpus > 1
        verdict = "no limit" if options.cpus > 1 else f"limit {limit}: {_word(within)}"
        print(f"median with {what}: wall {median:.3f} times ({verdict})")
        missed = missed or not within
    return 1 if missed else 0


def _word(within: bool) -> str:
    return "met" if within else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
