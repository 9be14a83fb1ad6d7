"""How long a comparison of many stacks takes, and what it needs of memory.

    python benches/differ.py [--chains N] [--kernels K]

Each kernel has N distinct addresses with chains of 1 to 12 frames over 20,000 functions. Exits with
1 when the comparison takes longer than the limit: 10 s for each million chains.
"""

import argparse
import resource
import sys
import time

import numpy as np

from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import Profile
from profdiff.reports.page import html
from profdiff.reports.text import session
from profdiff.session import manifest as m
from profdiff.symbolization.chains import Chains
from profdiff.topics.functions.selection import Selection

FUNCTIONS = 20_000
SECONDS_PER_MILLION = 10


def chains(count: int, seed: int) -> Chains:
    """Chains that share prefixes, as those of a kernel do."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 13, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    depth = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    # The deeper, the more different: roots are few, leaves many.
    frames = (random.random(len(depth)) * np.minimum(FUNCTIONS, 4.0 ** (depth + 1))).astype(
        np.uint32
    )
    zeros = np.zeros(FUNCTIONS, np.uint32)
    strings = ["", "vmlinux", *(f"function_{number}" for number in range(FUNCTIONS))]
    return Chains(
        strings=strings,
        function_name=np.arange(2, FUNCTIONS + 2, dtype=np.uint32),
        function_object=zeros + np.uint32(1),
        function_file=zeros,
        function_line=zeros,
        frame_function=np.arange(FUNCTIONS, dtype=np.uint32),
        frame_inlined=zeros.astype(np.bool_),
        frame_file=zeros,
        frame_line=zeros,
        offsets=offsets.astype(np.uint32),
        frames=frames,
        symbol=np.zeros(count, np.uint32),
        reason=np.zeros(count, np.uint8),
        address=np.arange(count, dtype=np.uint64) + np.uint64(0xFFFF_FFFF_8100_0000),
        reasons=["resolved"],
    )


def manifest(labels: list[str]) -> m.Manifest:
    """A manifest that names the kernels, one run each."""
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff="bench",
        created="2026-01-01T00:00:00Z",
        command=[],
        collectors=["exact"],
        repeat=1,
        verify=False,
        workload=m.Workload(argv=["x"], guest_argv=["x"], kind="program", files=[]),
        points=[m.Point(cpus=1)],
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0),
        kernels=[m.Kernel(label=label, spec="x", image_sha256="00" * 32) for label in labels],
        runs=[
            m.Run(
                id=f"{label}-1",
                kernel=label,
                collector="exact",
                repetition=1,
                started="2026-01-01T00:00:00Z",
                wall_seconds=0.0,
                files={},
            )
            for label in labels
        ],
    )


def main() -> int:
    """Time the parts and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=1_000_000)
    parser.add_argument("--kernels", type=int, default=2)
    options = parser.parse_args()
    labels = [f"k{number}" for number in range(options.kernels)]
    random = np.random.default_rng(0)
    made = {label: chains(options.chains, seed) for seed, label in enumerate(labels)}
    counts = {label: random.integers(1, 10**6, (options.chains, 1, 1)) for label in labels}

    start = time.perf_counter()
    profiles = {
        label: Profile.from_chains(made[label], counts[label][:, :, None]) for label in labels
    }
    described = manifest(labels)
    runs = {run.kernel: [run] for run in described.runs}
    (comparison,) = Comparison.build(described, profiles, runs)
    seconds = time.perf_counter() - start
    limit = SECONDS_PER_MILLION * options.chains * options.kernels / 1e6
    met = seconds <= limit
    print(
        f"{options.kernels} kernels of {options.chains:,} chains, {len(comparison.stacks):,} stacks"
    )
    print(f"compare {seconds:7.2f} s (limit {limit:.1f} s: {'met' if met else 'MISSED'})")
    found = Findings.of_recordings([comparison])
    for name, render in (
        ("text", lambda: session.render(found, Selection(top=20), width=100)),
        ("page", lambda: html.render(found)),
    ):
        start = time.perf_counter()
        size = len(render())
        print(f"{name:7} {time.perf_counter() - start:7.2f} s, {size / 1e6:.2f} MB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MiB, input included")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
