"""Sessions as ``report``, ``check`` and ``mail`` read them: the manifest, and each run's files."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from random import Random

import msgspec
from counts_bytes import counts_bytes
from synthetic import KERNEL_BASE, chains, frame, manifest
from synthetic_experiment import boots, recorded

from fuzz.commands import REFUSALS, profdiff, reported
from fuzz.mutation import mutate
from fuzz.structured import in_gzip, in_json, in_lines, in_npz
from fuzz.target import Target
from fuzz.targets import counts, perf
from profdiff.profile import importing
from profdiff.session import manifest as m


def _json(described: m.Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(described), indent=1)


def _timed() -> m.Manifest:
    points = [m.Point({"size": str(n)}, cpus=n, ops=100 * n) for n in (1, 2)]
    values = {"base": [boots(100, 3), boots(200, 3)], "base.aa": [boots(100, 3), boots(201, 3)]}
    return recorded({**values, "new": [boots(130, 3), boots(190, 3)]}, points=points)


def _measured_difference() -> m.Manifest:
    points = [m.Point({"n": "10"}, 1, 10), m.Point({"n": "110"}, 1, 110, shorter=0)]
    values = {"base": [boots(100, 3), boots(200, 3)], "new": [boots(100, 3), boots(230, 3)]}
    return recorded(values, points=points, is_total=True)


def _manifest_seeds() -> list[bytes]:
    return [_json(_timed()), _json(_measured_difference())]


def _read_manifest(data: bytes, folder: Path) -> str:
    session = folder / "x.profdiff"
    session.mkdir()
    (session / "manifest.json").write_bytes(data)
    shown = reported(data, "report", session, folder=folder)
    shown += profdiff("check", session, "--fail-if", "latency > +10%")
    return shown + profdiff("mail", session, "--from", "a@example.org", "-o", "-")


# A session's files in one input: a line with the sizes, then their contents. A text in place of a
# size makes the file something else. Names are the reader's, not a mutation's.
_FILES = (
    *("base.bin", "new.bin", "base.npz", "new.npz", "stdout", "config", "environment", "cmdline"),
    *("usage", "observed", "state", "vmstat-before", "vmstat-after", "kallsyms.gz"),
    *("base.data", "new.data", "base.data.npz", "new.data.npz", "base.txt", "new.txt"),
)
Files = dict[str, bytes | str]
_KINDS = ("fifo", "link", "loop", "folder", "absent", "sparse")


def _chains(count: int) -> bytes:
    rows = [
        ([frame(f"f{n}"), frame(f"g{n}", inlined=True)], f"f{n}.isra.0", True, [n + 1])
        if n % 5
        else ("no-symbol", "", True, [1])
        for n in range(count)
    ]
    made = chains(rows)
    file = Path("chains.npz")
    made.save(file)
    return file.read_bytes()


@cache
def _session_seeds() -> list[bytes]:
    places = [(KERNEL_BASE + 4 * n, n + 1, b"") for n in range(20)]
    nodes = [(counts._NONE, counts._NONE, counts._NONE, 0, 0), (0, 0, 1, 0, 3), (1, 3, 4, 0, 2)]
    rows = [(n % 3, n, n + 1) for n in range(20)]
    files = {
        "base.bin": counts_bytes(places, nodes, rows),
        "new.bin": counts_bytes(places),
        "base.npz": _chains(20),
        "new.npz": _chains(20),
        "stdout": b"done in 12.5e-3 s\n",
        "config": gzip.compress(b"CONFIG_SMP=y\n# CONFIG_KASAN is not set\n", mtime=0),
        "environment": b"hostname x\nmitigation a: b\n",
        "cmdline": b"console=ttyS0 quiet\n",
        "usage": b"wall_ns 5 user_us 1 system_us 1 minor_faults 9 major_faults 0\n",
        "observed": b"complete 1\nprocesses 1\nanon_huge_kib 0\nsyscall_mprotect 9\n",
        "state": b"/sys/kernel/mm/transparent_hugepage/enabled always [madvise] never\n",
        "vmstat-before": b"pgfault 10\nthp_fault_alloc 0\n",
        "vmstat-after": b"pgfault 20\nthp_fault_alloc 0\n",
        "kallsyms.gz": gzip.compress(b"ffffffff81000000 T f0\n", mtime=0),
    }
    exact = _joined(files)
    sampled = {name: content for name, content in files.items() if not name.endswith(".bin")}
    for label in ("base", "new"):
        recording = perf.written("<").file()
        Path(label).write_bytes(recording)
        importing.read(importing.GivenRecording(label, Path(label))).chains.save(Path("chains.npz"))
        sampled |= {
            f"{label}.data": recording,
            f"{label}.data.npz": Path("chains.npz").read_bytes(),
        }
    del sampled["base.npz"], sampled["new.npz"]
    texts = {"base.txt": perf.FOLDED[0], "new.txt": perf.FOLDED[2]}
    return [exact, _joined(sampled), _joined(texts)]


def _joined(files: Files) -> bytes:
    sizes = {
        name: content if isinstance(content, str) else len(content)
        for name, content in files.items()
    }
    contents = [content for content in files.values() if isinstance(content, bytes)]
    return json.dumps(sizes).encode() + b"\n" + b"".join(contents)


def _split(data: bytes) -> Files:
    """What bytes lose is lost by the last files."""
    head, _, rest = data.partition(b"\n")
    try:
        sizes = dict(json.loads(head))
    except (ValueError, TypeError, RecursionError):
        return {}
    found: Files = {}
    for name, size in sizes.items():
        if name in _FILES and isinstance(size, str):
            found[name] = size
        elif name in _FILES and isinstance(size, int):
            size = max(0, min(size, len(rest)))
            found[name], rest = rest[:size], rest[size:]
    return found


def _in_file(random: Random, data: bytes) -> bytes:
    """One of the session's files."""
    files = _split(data)
    if not files:
        return data
    name = random.choice(list(files))
    content = files[name]
    if isinstance(content, str) or random.random() < 0.03:
        files[name] = random.choice(_KINDS)
        return _joined(files)
    change = random.choice((mutate, in_lines))
    if name.endswith(".npz"):
        change = random.choice((mutate, in_npz, in_npz))
    elif name.endswith(".gz") or name == "config":
        change = in_gzip
    elif name.endswith(".data"):
        change = random.choice((mutate, perf.in_record))
    files[name] = change(random, content)
    return _joined(files)


def _run_files(run: m.Run, files: Files) -> tuple[m.Collector, dict[str, str]]:
    """By what a run of these files was made, and what they are."""
    paths = {name: name for name in files if "." not in name and name != "config"}
    paths |= {"kallsyms": "kallsyms.gz"} if "kallsyms.gz" in files else {}
    names = {"counts": ".bin", "perf-data": ".data", "symbols": ".data.npz", "stacks": ".txt"}
    own = {what: run.kernel + end for what, end in names.items() if run.kernel + end in files}
    return "import" if "stacks" in own or "perf-data" in own else "exact", {**paths, **own}


def _described(files: Files) -> m.Manifest:
    described = manifest(["base", "new"], ops=100)
    runs = []
    for run in described.runs:
        collector, paths = _run_files(run, files)
        runs.append(m.replace(run, files=paths, collector=collector, exit_status=0))
    kernels = []
    for kernel in described.kernels:
        symbols = f"{kernel.label}.npz"
        config = "config" if "config" in files else None
        known = m.replace(kernel, config=config, build_id=None)
        kernels.append(m.replace(known, symbols=symbols) if symbols in files else known)
    collectors = list(dict.fromkeys(run.collector for run in runs))
    return m.replace(described, runs=runs, kernels=kernels, collectors=collectors)


def _place(path: Path, content: bytes | str) -> None:
    """A file, or what stands in its place."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "fifo":
        os.mkfifo(path)
    elif content == "link":
        path.symlink_to("/etc/passwd")
    elif content == "loop":
        path.symlink_to(path.name)
    elif content == "folder":
        path.mkdir()
    elif content == "sparse":
        with path.open("wb") as file:
            file.truncate(40 << 30)


def _read_session(data: bytes, folder: Path) -> str:
    session = folder / "x.profdiff"
    session.mkdir()
    files = _split(data)
    for name, content in files.items():
        _place(session / name, content)
    (session / "manifest.json").write_bytes(_json(_described(files)))
    before = sorted(session.rglob("*"))
    shown = reported(data, "report", session, folder=folder)
    # What is only read stays as it is.
    assert sorted(session.rglob("*")) == before
    return shown


TARGETS = (
    Target(
        "manifest",
        _manifest_seeds,
        _read_manifest,
        cases=150,
        refusals=REFUSALS,
        mutations=[in_json, in_json, in_json],
    ),
    Target(
        "session-files",
        _session_seeds,
        _read_session,
        cases=150,
        refusals=REFUSALS,
        mutations=[_in_file, _in_file, _in_file],
    ),
)
