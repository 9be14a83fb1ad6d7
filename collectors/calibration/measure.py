"""Prices of this machine, from the lines of ``calibrate.c``."""

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from profdiff import __version__
from profdiff.base import bounded
from profdiff.base.errors import MissingError, RunError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import host
from profdiff.collectors.calibration import CALIBRATE
from profdiff.collectors.calibration.prices import SCHEMA, UNIT, Cpu, Price, Prices

ROUNDS = 60
_KIB, _MIB = 1 << 10, 1 << 20
_MIN_MEMORY, _MAX_MEMORY = 64 * _MIB, 512 * _MIB
_CPU = Path("/sys/devices/system/cpu")
_HYPERVISORS = {
    "KVMKVMKVM": "KVM",
    "Microsoft Hv": "Hyper-V",
    "VMwareVMware": "VMware",
    "XenVMMXenVMM": "Xen",
    "TCGTCGTCGTCG": "QEMU without KVM",
}


class Item(NamedTuple):
    """A price: the cycles of ``block``, times ``factor``, less those of the block ``less`` and
    ``known`` ones."""

    name: str
    block: str
    less: str = ""
    factor: float = 1
    known: float = 0


ITEMS = (
    *(Item(name, name) for name in ("locked-add", "locked-xchg", "locked-cmpxchg")),
    Item("locked-among-loads", "loads-with-locked", "loads"),
    Item("locked-among-adds", "adds-with-locked", "adds"),
    *(Item(name, name) for name in ("exclusive-add", "jump")),
    Item("return", "call-return"),
    Item("return-thunk", "call-return-thunk"),
    Item("return-safe-ret", "call-return-safe"),
    Item("indirect-call", "indirect-call-return", "call-return"),
    Item("indirect-call-retpoline", "indirect-call-retpoline", "call-return"),
    *(Item(name, name) for name in ("indirect-jump", "indirect-jump-retpoline")),
    # Half of the random branches are mispredicted.
    Item("misprediction", "branch-random", "branch-predicted", factor=2),
    # Two instructions in the chain make a dividend of the last quotient.
    *(Item(name, name, known=2) for name in ("division-32", "division-64")),
    *(Item(name, name) for name in ("lfence", "mfence", "sfence", "pause", "cpuid", "verw")),
    *(Item(name, name) for name in ("iret", "dmb", "dsb", "isb", "yield", "syscall")),
    *(Item(f"fault-{kind}", f"fault-{kind}") for kind in ("read", "write", "upgrade", "copy")),
    *(Item(f"stosb-{size}", f"stosb-{size}") for size in (64, 512, 4096, 65536)),
    *(Item(f"movsb-{size}", f"movsb-{size}") for size in (64, 512, 4096, 65536)),
)
# Lines before and behind one, among whose chains the shortest tells how long a cycle is.
_NEAR = 4
Ended = Callable[[int], None]


def measure(ended: Ended = lambda rounds: None, rounds: int = ROUNDS) -> Prices:
    """The prices of this machine, in a few seconds. ``ended`` is called with the number of rounds
    that ended.

    Raises MissingError for an architecture that calibrate is not written for, and without a
    compiler where no wheel brought the program; RunError if the program fails.
    """
    if not any(architecture.is_host for architecture in CALIBRATE.architectures):
        able = " and ".join(one.told for one in CALIBRATE.architectures)
        raise MissingError(f"calibrate has programs for {able} only: this is {os.uname().machine}")
    sizes = level_sizes(_caches())
    command = [str(CALIBRATE.find(host())), str(rounds), *map(str, sizes.values())]
    try:
        return prices_of(_run(command, ended), sizes)
    except ValueError as error:
        raise RunError(f"the measuring program wrote no times: {error}") from error


def _run(command: Sequence[str], ended: Ended) -> Iterable[str]:
    """The lines of the program, as they come. Raises RunError."""
    rounds = 0
    with (
        temporary_folder() as folder,
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        for line in process.stdout or ():
            if line.strip():
                yield line
            else:
                rounds += 1
                ended(rounds)
        status = process.wait()
        errors.seek(0)
        reason = (errors.read(_KIB).splitlines() or [f"status {status}"])[-1]
    if status != 0:
        raise RunError(f"the measuring program failed ({reason}): report it with your CPU")


def prices_of(lines: Iterable[str], sizes: Mapping[str, int]) -> Prices:
    """The prices that the program's lines have: a block's name, the nanoseconds of a cycle, and
    those of an operation. ``sizes``: the bytes that loads of each level are from. Raises ValueError
    for lines of another form, or none."""
    hypervisor, names, times = "", list[str](), list[tuple[float, ...]]()
    for line in lines:
        name, _, rest = line.strip().partition(" ")
        if name == "hypervisor":
            hypervisor = rest
            continue
        names.append(name)
        times.append(tuple(map(float, rest.split())))
    cycles, operations = zip(*times, strict=True)
    blocks: dict[str, list[float]] = {}
    for number, (name, operation) in enumerate(zip(names, operations, strict=True)):
        # A frequency lasts for more than these; what disturbs a chain does not.
        cycle = min(cycles[max(number - _NEAR, 0) : number + _NEAR + 1])
        blocks.setdefault(name, []).append(operation / cycle)
    known = [item for item in ITEMS if item.block in blocks and item.less in ("", *blocks)]
    prices = [_price(item, blocks) for item in known]
    for level, size in sizes.items():
        prices.append(_price(Item(f"load-{level}", f"load-{size}"), blocks, size))
    return Prices(
        schema=SCHEMA,
        profdiff=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        cpu=_cpu(),
        hypervisor=_HYPERVISORS.get(hypervisor, hypervisor) or _virtual_vendor(),
        kernel=platform.release(),
        mitigations={
            path.name: _line(path) for path in sorted((_CPU / "vulnerabilities").glob("*"))
        },
        filtered=bool(re.search(r"^Seccomp:\s*[^0\s]", _text(Path("/proc/self/status")), re.M)),
        unit=UNIT,
        cycle_ns=_rounded(statistics.median(cycles)),
        prices=prices,
    )


def _price(item: Item, blocks: Mapping[str, Sequence[float]], size: int | None = None) -> Price:
    """Quantiles, each without that of what is subtracted, but none below the one before."""
    whole, less = _quantiles(blocks[item.block]), (item.known,) * 3
    if item.less:
        least, median, _ = _quantiles(blocks[item.less])
        less = (least, median, median)
    found = [item.factor * (one - other) for one, other in zip(whole, less, strict=True)]
    low, median, high = (_rounded(value) for value in list(accumulate([0, *found], max))[1:])
    samples = len(blocks[item.block])
    return Price(name=item.name, samples=samples, minimum=low, median=median, high=high, size=size)


def _quantiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The minimum, the median and the upper quartile."""
    return min(values), statistics.median(values), float(np.quantile(values, 0.75))


def _rounded(value: float) -> float:
    """Four significant digits: no processor repeats more."""
    return float(f"{value:.4g}")


def level_sizes(caches: Mapping[int, int]) -> dict[str, int]:
    """For each level of a machine with ``caches``, bytes by level, the bytes of memory whose loads
    mostly hit it: powers of 2, each at least twice the one before. Levels without such a size, and
    memory where caches are so large that it takes too long, are left out."""
    first, second = caches.get(1, 32 * _KIB), caches.get(2, 256 * _KIB)
    largest = max((first, second, *caches.values()))
    wanted = {"l1": first // 2, "l2": second // 4}
    if largest >= 16 * second:
        wanted["l3"] = 8 * second
    wanted["memory"] = max(_MIN_MEMORY, 4 * largest - 1)
    sizes: dict[str, int] = {}
    for level, size in wanted.items():
        power = 1 << max(size.bit_length() - 1, 12)
        if 2 * max(sizes.values(), default=0) <= power <= _MAX_MEMORY:
            sizes[level] = power
    return sizes


def _caches() -> dict[int, int]:
    """The bytes of the caches for data of the first processor, by level."""
    found = {}
    for folder in (_CPU / "cpu0/cache").glob("index*"):
        level, kind, size = (_line(folder / name) for name in ("level", "type", "size"))
        if kind != "Instruction" and level.isdecimal() and (told := re.fullmatch(r"(\d+)K", size)):
            found[int(level)] = int(told[1]) * _KIB
    return found


# Of /proc/cpuinfo, by what a record calls them: of x86, and of arm64.
_FIELDS = {
    "name": ("model name",),
    "vendor": ("vendor_id", "CPU implementer"),
    "family": ("cpu family", "CPU part"),
    "model": ("model", "CPU variant"),
    "stepping": ("stepping", "CPU revision"),
    "microcode": ("microcode",),
}


def _cpu() -> Cpu:
    lines = _text(Path("/proc/cpuinfo")).partition("\n\n")[0].splitlines()
    told = {name.strip(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
    found = {
        field: next((told[name][:500] for name in names if name in told), "")
        for field, names in _FIELDS.items()
    }
    if not found["name"]:
        found["name"] = f"{found['vendor']} {found['family']}".strip() or "unknown CPU"
    return Cpu(architecture=host().arch, **found)


def _virtual_vendor() -> str:
    """The vendor of a virtual machine, which arm64 has no other way to tell; "" for others."""
    vendor = _line(Path("/sys/class/dmi/id/sys_vendor"))
    return vendor if vendor in ("QEMU", "Amazon EC2", "Google", "Microsoft Corporation") else ""


def _line(path: Path) -> str:
    return _text(path).strip().partition("\n")[0][:500]


def _text(path: Path) -> str:
    """A file of the kernel's; "" where there is none."""
    try:
        return bounded.read(path, _MIB).decode(errors="replace")
    except OSError:
        return ""
