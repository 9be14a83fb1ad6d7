"""The probe collector: which values a function's variable has, where nothing is emulated.

The option that names probes, for each collector that can read them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import Kind
from profdiff.collectors.collector import Collector, Options

if TYPE_CHECKING:
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.records import Measured, Value


_RETURN = "return"
_PROBE = re.compile(r"([A-Za-z_][\w.]{0,255})\s+([A-Za-z_]\w{0,255})", re.ASCII)


class ProbedVariable(NamedTuple):
    """A function, and the variable that is read where it begins. ``return``, which no variable of C
    can have as its name, stands for what the function returns."""

    function: str
    variable: str

    @staticmethod
    def parse(text: str) -> ProbedVariable:
        """``FUNCTION VARIABLE``. Raises InputError."""
        match = _PROBE.fullmatch(text.strip())
        if not match:
            raise InputError(
                f"--probe {text!r}: give a function and one of its variables, such as "
                "'prot_commit_flush_ptes nr_ptes', or 'return'"
            )
        return ProbedVariable(match[1], match[2])

    def __str__(self) -> str:
        return f"{self.function} {self.variable}"

    @property
    def words(self) -> str:
        """As a sentence says it."""
        return (
            f"what {self.function} returns"
            if self.returns
            else f"{self.variable} of {self.function}"
        )

    @property
    def returns(self) -> bool:
        """Whether it is what the function returns that is read."""
        return self.variable == _RETURN


_PAIR = re.compile(rb"\{ (\w+): +(-?\d{1,20}), (\w+): +(-?\d{1,20}) *\} hitcount: +(\d{1,18})\s*")
_DROPPED = re.compile(rb"^ *Dropped: (\d{1,18})$", re.M)
# More than the kernel keeps of one: 65,536 entries.
_MAX_VALUES = 1 << 17


class Counted(NamedTuple):
    """``values``: in how many calls of the workload's threads; ``dropped``: calls of any thread
    for which the kernel had no room."""

    values: Counter[int]
    dropped: int


def threads(forks: bytes, first: int) -> set[int]:
    """The thread ``first`` with all that it started, and what they did."""
    children: dict[int, list[int]] = {}
    for parent, child, _ in _pairs(forks, (b"parent_pid", b"child_pid")):
        children.setdefault(parent, []).append(child)
    found, ahead = {first}, [first]
    while ahead:
        new = [one for one in children.get(ahead.pop(), ()) if one not in found]
        found.update(new)
        ahead += new
    return found


def counted(text: bytes, mine: set[int]) -> Counted:
    """One probe's values; those of 2**63 and more are negative numbers."""
    values: Counter[int] = Counter()
    for thread, value, calls in _pairs(text, (b"common_pid", b"value")):
        if thread in mine:
            values[value - (1 << 64) if value >= 1 << 63 else value] += calls
    dropped = _DROPPED.search(text)
    return Counted(values, int(dropped[1]) if dropped else 0)


def _pairs(text: bytes, keys: tuple[bytes, bytes]) -> Iterator[tuple[int, int, int]]:
    """Both keys' values, and how often they came together."""
    for number, match in enumerate(_PAIR.finditer(text)):
        if number == _MAX_VALUES:
            return
        fields = {match[1]: match[2], match[3]: match[4]}
        if fields.keys() == set(keys):
            yield int(fields[keys[0]]), int(fields[keys[1]]), int(match[5])


PROBE = click.Option(
    ["--probe"],
    multiple=True,
    metavar="'FUNCTION VARIABLE'",
    help="Record the values that a variable has where a function of the kernel begins, or what it "
    "returns ('FUNCTION return'). Can be repeated. Exact runs need QEMU 9 or later for "
    "it; probe runs, also of machines, Linux 6.6.",
)


PROBED = Kind(
    "values of variables", "by kprobe events, whole command", "has", repeatable=True, of_parts=True
)
_MAX_PROBES = 16
_FILE = "counts.probes"
_REFUSED = {
    "rights": "only root can use kprobe events there: record as root",
    "tracefs": "there is no tracefs: the kernel needs CONFIG_FTRACE=y, and this must work: "
    "mount -t tracefs tracefs /sys/kernel/tracing",
    "events": "the kernel has no kprobe events: it needs CONFIG_KPROBE_EVENTS=y",
    "instance": "the kernel makes no instance of ftrace: it needs CONFIG_TRACING=y and memory",
    "histogram": "the kernel counts no values: it needs CONFIG_HIST_TRIGGERS=y",
}
_NAMES = "names of variables need Linux 6.6 or later with CONFIG_PROBE_EVENTS_BTF_ARGS=y"


class Probe(Collector):
    """Values of variables by kprobe events, in guests and on machines."""

    name = "probe"
    kind = PROBED
    help = "values of variables (--probe), by kprobe events"
    how = "kprobe events, whole command"
    options: ClassVar[Sequence[click.Option]] = (PROBE,)
    leaves: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(("tracefs-refusal", "probe-errors", "probe-pid"), 1 << 20),
        **dict.fromkeys(
            ("probe-forks", *(f"probe.{number}" for number in range(_MAX_PROBES))), 1 << 24
        ),
    }
    failures: ClassVar[Sequence[str]] = ("probe",)
    whole_command = True

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:

        for text in given["probe"]:
            ProbedVariable.parse(text)
        if not 0 < len(given["probe"]) <= _MAX_PROBES:
            raise InputError(f"--collector probe: name 1 to {_MAX_PROBES} variables with --probe")
        return super().settings(given)

    def script(self) -> str:
        from profdiff.collectors.guest.initramfs import guest_resources

        own = (Path(__file__).parent / "collector.sh").read_text()
        return (guest_resources() / "tracefs.sh").read_text() + own

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:

        wanted = map(ProbedVariable.parse, options["probe"])
        return {"probes": "".join(f"{n} {one}\n" for n, one in enumerate(wanted)).encode()}

    def judge(self, left: Left) -> Result:
        from profdiff.collectors.guest.result import Result, agents_result
        from profdiff.collectors.records import Failure

        if left.failure:
            return Result(left.files, failure=left.failure)
        if word := left.end("tracefs-refusal").decode(errors="replace").strip():
            why = _REFUSED.get(word) or "; ".join(_errors(left))
            return Result(left.files, failure=Failure("probe", why))
        counts = _counts(left)
        (left.folder / _FILE).write_text("".join(_lines(counts)))
        names = left.options["probe"]
        remarks = [*_errors(left), *_dropped(counts, names)]
        result = agents_result(left, lambda _: _measured(counts, names))
        kept = {what: name for what, name in left.files.items() if not what.startswith("probe")}
        for what, name in left.files.items():
            if what not in kept:
                (left.folder / name).unlink(missing_ok=True)
        return replace(result, files={**kept, "probes": _FILE}, remarks=remarks)


def _counts(left: Left) -> dict[int, Counted]:
    """By the probe's number, of those that the kernel accepted."""

    first = left.end("probe-pid").strip()
    mine = threads(left.read("probe-forks"), int(first) if first.isdigit() else 0)
    return {
        number: counted(left.read(f"probe.{number}"), mine)
        for number in range(len(left.options["probe"]))
        if f"probe.{number}" in left.files
    }


def _lines(counts: Mapping[int, Counted]) -> list[str]:
    """What the exact collector's plugin writes of its probes; the address is not known."""
    lines = []
    for number, count in counts.items():
        lines.append(f"place {number} 1 {count.values.total()} 0\n")
        lines += [
            f"value {number} {value} {calls}\n" for value, calls in sorted(count.values.items())
        ]
    return lines


def _measured(counts: Mapping[int, Counted], names: Sequence[str]) -> list[Measured]:
    """In how many calls each probe was read."""
    from profdiff.collectors.records import Measured

    return [
        Measured(
            ".".join(names[number].split()), "calls", "lower", True, [float(count.values.total())]
        )
        for number, count in counts.items()
    ]


def _errors(left: Left) -> list[str]:
    """Why the kernel refused some probes, in its own words."""
    from profdiff.base.terminal import short

    told = []
    for line in left.end("probe-errors").decode(errors="replace").splitlines()[:_MAX_PROBES]:
        number, _, why = line.partition(" ")
        if number.isdecimal() and int(number) < len(left.options["probe"]):
            name = left.options["probe"][int(number)]
            said = short(why.removeprefix("error: ")) or "it does not say why"
            hint = f"; {_NAMES}" if "rgument" in said or "fetch" in said.lower() else ""
            told.append(f"the kernel refuses the probe '{name}': {said}{hint}")
    return told


def _dropped(counts: Mapping[int, Counted], names: Sequence[str]) -> list[str]:
    return [
        f"the kernel had no room for {count.dropped:,} values of '{names[number]}'"
        for number, count in counts.items()
        if count.dropped
    ]
