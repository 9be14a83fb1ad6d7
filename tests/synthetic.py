"""Small made-up chains, profiles and manifests, for the differ and the reports."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from profdiff.base.metric import SAMPLED, Metric
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import Profile
from profdiff.session import manifest as m
from profdiff.symbolization.chains import Chains

KERNEL_BASE = 0xFFFF_FFFF_8100_0000
REASONS = ["resolved", "no-symbol", "outside-text"]

# A frame: name, object, file, inlined. A row: its frames (outermost first) or a reason, the symbol,
# whether it is the kernel's, and its counts in each run.
Frame = tuple[str, str, str, bool]
Row = tuple[Sequence[Frame] | str, str, bool, Sequence[int]]


def frame(
    name: str, *, inlined: bool = False, file: str = "mm/x.c", owner: str = "vmlinux"
) -> Frame:
    """A frame of the kernel."""
    return (name, owner, file, inlined)


def chains(rows: Sequence[Row]) -> Chains:
    """Chains with the columns that symbolization makes."""
    strings = [""]

    def intern(text: str) -> int:
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    functions: list[tuple[int, int, int]] = []
    frames: list[tuple[int, bool]] = []
    members: list[int] = []
    offsets, symbols, reasons, addresses = [0], [], [], []
    for number, (described, symbol, in_kernel, _) in enumerate(rows):
        for name, owner, file, inlined in () if isinstance(described, str) else described:
            function = (intern(name), intern(owner), intern(file))
            if function not in functions:
                functions.append(function)
            row = (functions.index(function), inlined)
            if row not in frames:
                frames.append(row)
            members.append(frames.index(row))
        offsets.append(len(members))
        symbols.append(intern(symbol))
        reasons.append(REASONS.index(described) if isinstance(described, str) else 0)
        addresses.append((KERNEL_BASE if in_kernel else 0x40_0000) + 4 * number)
    columns = np.array(functions, np.uint32).reshape(-1, 3)
    result = Chains(
        strings=strings,
        function_name=columns[:, 0],
        function_object=columns[:, 1],
        function_file=columns[:, 2],
        function_line=np.zeros(len(functions), np.uint32),
        frame_function=np.array([function for function, _ in frames], np.uint32),
        frame_inlined=np.array([inlined for _, inlined in frames], np.bool_),
        frame_file=np.zeros(len(frames), np.uint32),
        frame_line=np.zeros(len(frames), np.uint32),
        offsets=np.array(offsets, np.uint32),
        frames=np.array(members, np.uint32),
        symbol=np.array(symbols, np.uint32),
        reason=np.array(reasons, np.uint8),
        address=np.array(addresses, np.uint64),
        reasons=REASONS,
    )
    result.check()
    return result


def profile(rows: Sequence[Row]) -> Profile:
    """The profile of ``rows``."""
    runs = len(rows[0][3]) if rows else 1
    counts = np.array([row[3] for row in rows], np.int64).reshape(-1, runs, 1)
    return Profile.from_chains(chains(rows), counts)


def manifest(
    labels: Sequence[str], *, runs: int = 1, ops: int | None = None, failed: Sequence[str] = ()
) -> m.Manifest:
    """A manifest: ``runs`` finished runs of each kernel, and a failed one of each of ``failed``."""
    made = [_run(label, number, None) for label in labels for number in range(1, runs + 1)]
    failure = m.Failure(kind="workload", message="the workload ended with exit status 3")
    made += [_run(label, runs + 1, failure) for label in failed]
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff="0.1.0",
        created="2026-11-20T22:00:00Z",
        command=["profdiff", "record"],
        collectors=["exact"],
        repeat=runs,
        verify=False,
        workload=m.Workload(
            argv=["./work", "1"], guest_argv=["/work/work", "1"], kind="program", files=[]
        ),
        points=[m.Point(cpus=1, ops=ops)],
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0),
        kernels=[
            m.Kernel(
                label=label,
                spec=f"kernels/{label}",
                image_sha256="00" * 32,
                release=f"6.{number}.0",
                build_id="ab" * 20,
                compiler="gcc 12.2.0",
                version="Linux version 6",
                inlines={"vmlinux": True},
            )
            for number, label in enumerate(labels)
        ],
        runs=made,
    )


def _run(label: str, number: int, failure: m.Failure | None) -> m.Run:
    return m.Run(
        id=f"{label}-{number}",
        kernel=label,
        collector="exact",
        repetition=number,
        started="2026-11-20T22:00:00Z",
        wall_seconds=6.5,
        files={},
        qemu=m.Qemu(version="QEMU emulator version 7.2.22", arguments=[], plugin_api=1),
        failure=failure,
        window=None if failure else m.Window(kind="marks", count=2),
        instructions=None if failure else m.Instructions(kernel=1, user=0, each_iteration=1),
    )


def compare(
    kernels: dict[str, Sequence[Row]], *, ops: int | None = None, failed: Sequence[str] = ()
) -> Comparison:
    """The comparison of ``kernels``, rows by label."""
    runs = max(len(row[3]) for rows in kernels.values() for row in rows)
    described = manifest(list(kernels), runs=runs, ops=ops, failed=failed)
    profiles = {label: profile(rows) for label, rows in kernels.items()}
    return build(described, profiles)


def sampled_comparison(functions: Mapping[str, tuple[int, int]]) -> Comparison:
    """Functions by name with their samples on ``base`` and ``new``, each of a thousand ns."""
    exact = compare(
        {
            label: [
                ([frame(name)], name, True, [1000 * both[side]]) for name, both in functions.items()
            ]
            for side, label in enumerate(("base", "new"))
        }
    )
    metric = Metric("cpu-clock", "ns", kind=SAMPLED)
    return msgspec.structs.replace(exact, metric=metric, samples=exact.self_ // 1000)


def build(described: m.Manifest, profiles: dict[str, Profile]) -> Comparison:
    """The one comparison of exact profiles."""
    runs = {
        kernel.label: [
            run for run in described.runs if run.kernel == kernel.label and not run.failure
        ]
        for kernel in described.kernels
    }
    (comparison,) = Comparison.build(described, profiles, runs)
    return comparison


def findings(comparisons: Sequence[Comparison]) -> Findings:
    """What reports are given of ``comparisons``."""
    return Findings.of_recordings(comparisons)


def example() -> dict[str, Sequence[Row]]:
    """Two kernels in the manner of mprotect()'s regression."""
    pte = frame("change_pte_range")
    return {
        "base": [
            ([pte], "change_pte_range", True, [1_144_320]),
            (
                [pte, frame("can_change_pte_writable", inlined=True)],
                "change_pte_range",
                True,
                [300_000],
            ),
            ([frame("main", owner="work", file="work.c")], "main", False, [3_764]),
            ("no-symbol", "", False, [12]),
        ],
        "new": [
            ([pte], "change_pte_range.isra.0", True, [1_343_600]),
            (
                [pte, frame("prot_commit_flush_ptes", inlined=True)],
                "change_pte_range.isra.0",
                True,
                [1_100_000],
            ),
            (
                [pte, frame("commit_anon_folio_batch", inlined=True)],
                "change_pte_range.isra.0",
                True,
                [620_000],
            ),
            ([frame("main", owner="work", file="work.c")], "main", False, [3_764]),
            ("outside-text", "", True, [7]),
        ],
    }
