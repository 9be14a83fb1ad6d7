"""What operations cost on a processor: a file that ``profdiff calibrate`` writes, and that may come
from a stranger. ``docs/prices.md`` documents each field."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.terminal import printable
from profdiff.collectors.records import Part

SCHEMA = "profdiff.prices/1"
UNIT = "cycles: additions in a chain of dependent ones"
_MAX_FILE, _MAX_VALUES = 1 << 20, 1 << 14
Line = Annotated[str, msgspec.Meta(max_length=500)]
PriceName = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,39}\Z")]
Cycles = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Cpu(Part, frozen=True):
    """As /proc/cpuinfo has it; on arm64, ``family`` is the part and ``model`` the variant."""

    architecture: Line
    name: Line
    vendor: Line = ""
    family: Line = ""
    model: Line = ""
    stepping: Line = ""
    microcode: Line = ""


class Price(Part, frozen=True):
    """The cycles of an operation in ``samples`` repetitions: the fewest, the median, and the upper
    quartile. ``size``: the bytes that it is about, where it is about some."""

    name: PriceName
    samples: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    minimum: Cycles
    median: Cycles
    high: Cycles
    size: Annotated[int, msgspec.Meta(ge=1, le=2**40)] | None = None

    @property
    def noisy(self) -> bool:
        """Whether a quarter of the repetitions took much longer than the shortest."""
        return self.high > 1.1 * self.minimum + 1


class Prices(Part, frozen=True):
    """``unit``: the cycle, an addition in a chain of dependent ones, ``cycle_ns`` nanoseconds long.
    ``hypervisor``: "" on bare metal. ``mitigations``: by the kernel's names of vulnerabilities.
    ``filtered``: whether seccomp filters the system calls of what measured."""

    schema: Line
    profdiff: Line
    created: Line
    cpu: Cpu
    hypervisor: Line
    kernel: Line
    mitigations: Annotated[dict[Line, Line], msgspec.Meta(max_length=100)]
    filtered: bool
    unit: Line
    cycle_ns: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    prices: Annotated[list[Price], msgspec.Meta(min_length=1, max_length=200)]

    @property
    def by_name(self) -> Mapping[str, Price]:
        """The prices by name."""
        return {price.name: price for price in self.prices}

    @property
    def title(self) -> str:
        """The processor, in one line that is safe to print."""
        cpu = self.cpu
        number = f", family {cpu.family} model {cpu.model}" if cpu.family and cpu.model else ""
        guest = f", under {self.hypervisor}" if self.hypervisor else ""
        return printable(f"{cpu.name}{number}{guest}")

    @property
    def cautions(self) -> list[str]:
        """What a reader must know of where they were measured, a sentence each."""
        told = []
        noisy = sum(price.noisy for price in self.prices)
        if noisy:
            told.append(
                f"Noisy: a quarter of the repetitions of {noisy} of {len(self.prices)} prices took "
                "over 10% longer than the shortest. Calibrate again when the machine is idle."
            )
        if self.hypervisor:
            told.append(
                f"Measured under {printable(self.hypervisor)}: page faults, cpuid and loads cost "
                "more than on the bare machine."
            )
        if self.filtered:
            told.append("A seccomp filter, as of a container, makes system calls cost more.")
        return told

    @property
    def chosen_return(self) -> str:
        """The name of the price of a return as this machine's kernel mitigates it."""
        return _chosen(_RETURNS, self.mitigations, "return")

    @property
    def chosen_branch(self) -> str:
        """What stands behind the names of indirect branches as this machine's kernel mitigates
        them: "" or "-retpoline"."""
        return _chosen(_BRANCHES, self.mitigations, "")


class _Choice(NamedTuple):
    vulnerability: str
    word: str
    price: str


# Documentation/admin-guide/hw-vuln: what the files below vulnerabilities/ say.
_RETURNS = (
    _Choice("spec_rstack_overflow", "safe ret", "return-safe-ret"),
    _Choice("retbleed", "untrained return thunk", "return-thunk"),
    _Choice("indirect_target_selection", "aligned branch/return thunks", "return-thunk"),
)
_BRANCHES = (_Choice("spectre_v2", "retpoline", "-retpoline"),)


def _chosen(choices: tuple[_Choice, ...], mitigations: Mapping[str, str], plain: str) -> str:
    """The price of the first choice that is in force."""
    for choice in choices:
        # Thunks execute, too, where more is needed: "Vulnerable: Safe RET, no microcode".
        if choice.word in mitigations.get(choice.vulnerability, "").lower():
            return choice.price
    return plain


def encoded(prices: Prices) -> bytes:
    """The content of the file, in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(prices), indent=1).encode() + b"\n"


def read_prices(path: Path) -> Prices:
    """The prices in a file of ``profdiff calibrate``. Raises InputError for another file."""
    fix = "name a file that profdiff calibrate wrote"
    try:
        data = bounded.read_json(path, _MAX_FILE, _MAX_VALUES)
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): {fix}") from error
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            raise InputError(f"{path} has format {schema}, this profdiff reads {SCHEMA}: {fix}")
        prices = msgspec.json.decode(data, type=Prices)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} has no prices ({error}): {fix}") from error
    names = [price.name for price in prices.prices]
    if len({*names}) < len(names):
        raise InputError(f"{path} has several prices of one name: {fix}")
    if any(not price.minimum <= price.median <= price.high for price in prices.prices):
        raise InputError(f"{path} has a price whose minimum, median and quartile fall: {fix}")
    return prices


_STRINGS = {"stosb": "fills", "movsb": "copies"}
#: What people call prices, in the order of a table.
TOLD = {
    "locked-add": "atomic addition, one behind the other",
    "locked-xchg": "atomic exchange, one behind the other",
    "locked-cmpxchg": "atomic compare and exchange, one behind the other",
    "locked-among-loads": "atomic exchange beside a chain of 16 loads",
    "locked-among-adds": "atomic exchange beside a chain of 64 additions",
    "exclusive-add": "addition by load and store exclusive",
    "jump": "taken jump",
    "return": "call and its return",
    "return-thunk": "call and its return through a thunk that jumps",
    "return-safe-ret": "call and its return through Safe RET",
    "indirect-call": "indirect call, more than a direct one",
    "indirect-call-retpoline": "indirect call through a retpoline, more than a direct one",
    "indirect-jump": "indirect jump",
    "indirect-jump-retpoline": "indirect jump through a retpoline",
    "misprediction": "mispredicted branch",
    "division-32": "division of 32 bits, quotient of 31",
    "division-64": "division of 64 bits, quotient of 63",
    **{name: name for name in ("lfence", "mfence", "sfence", "pause", "cpuid", "verw")},
    "iret": "iret to the same ring",
    **{name: name for name in ("dmb", "dsb", "isb", "yield")},
    "syscall": "system call (getppid)",
    "fault-read": "page fault, reads: the zero page",
    "fault-write": "page fault, writes: a new page",
    "fault-upgrade": "page fault, writes after a read: a new page",
    "fault-copy": "page fault, writes: a copy of a page",
    **{
        f"{name}-{size}": f"rep {name} {what} {size:,} bytes"
        for name, what in _STRINGS.items()
        for size in (64, 512, 4096, 65536)
    },
    "load-l1": "dependent load, L1",
    "load-l2": "dependent load, L2",
    "load-l3": "dependent load, L3",
    "load-memory": "dependent load, memory",
}


class _Schema(msgspec.Struct):
    schema: Line
