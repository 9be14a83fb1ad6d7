"""Functions as objdump prints them, with names and sizes in place of addresses: what equal code is,
told without profdiff."""

import re
import subprocess
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from support import need_program

_LINE = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
# Of an operand: what stands beside %rip, and the number that objdump made of it.
_BESIDE = re.compile(r"-?0x[0-9a-f]+\(%rip\)(.*?)\s*#\s+([0-9a-f]+)(?: <.*>)?$")
_BRANCH = re.compile(r"\b([0-9a-f]{5,16})(?: <[^>]*>)?$")
_NUMBER = re.compile(r"-?0x[0-9a-f]+")
_KERNEL = 0xFFFFFFFF80000000
_NUMBERED = re.compile(r"\.\d+$")


class Name(NamedTuple):
    """``nothing``: no symbol with a size is there."""

    name: str
    offset: int
    size: int


class Text(NamedTuple):
    """A kernel: its functions with names of their own, as lines in which addresses are names."""

    functions: dict[str, list[tuple[str, ...]]]


class _Symbols:
    def __init__(self, elf: Path) -> None:
        command = [need_program("nm"), "-S", "--defined-only", str(elf)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found: dict[int, tuple[int, str, str]] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        names: Counter[str] = Counter()
        for row in (line.split() for line in told.splitlines()):
            if len(row) != 4 or row[2] in "aA":
                continue
            start, size, kind, name = int(row[0], 16), int(row[1], 16), row[2], row[3]
            known = found.get(start)
            if known is None or _order(name) < _order(known[1]):
                found[start] = size, name, kind
            if kind in "tTwW":
                names[name] += 1
                self.functions[start] = found[start][:2]
        self.starts = sorted(found)
        self.found = found
        self.unique = {name for name, number in names.items() if number == 1}
        self.low = max((one + found[one][0] for one in self.starts if one < _KERNEL), default=0)
        self.last = self.starts[-1] + found[self.starts[-1]][0]

    def name(self, address: int) -> Name:
        at = bisect_right(self.starts, address) - 1
        for start in reversed(self.starts[max(at - 8, 0) : at + 1]):
            size, name, kind = self.found[start]
            if address - start < size:
                code = kind in "tTwW"
                plain = name if code else _NUMBERED.sub("", name)
                return Name(plain, address - start, 0 if code else size)
        return Name("nothing", 0, 0)


def _order(name: str) -> tuple[int, str]:
    """Of names for one address: the fewest underscores come first."""
    return len(name) - len(name.lstrip("_")), name


def text(elf: Path, wanted: Sequence[str]) -> Text:
    """Functions of a vmlinux by name, as far as the name is of one function only."""
    symbols = _Symbols(elf)
    functions: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for first, last in _ranges(symbols, set(wanted) & symbols.unique):
        command = [
            need_program("objdump"),
            "-d",
            "-w",
            "-j",
            ".text",
            "--no-show-raw-insn",
            str(elf),
        ]
        command += [f"--start-address={first:#x}", f"--stop-address={last:#x}"]
        start, end, name = 0, 0, ""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout
            for line in running.stdout:
                found = _LINE.match(line)
                if not found:
                    continue
                address = int(found[1], 16)
                if address in symbols.functions:
                    size, name = symbols.functions[address]
                    start, end = address, address + size
                if start <= address < end and name in symbols.unique:
                    # One text may have a short and a long encoding.
                    place = f"{address - start:#x}"
                    functions[name].append((place, *_line(found[2], symbols, start, end)))
        assert running.returncode == 0
    return Text({name: functions[name] for name in wanted if name in functions})


def _ranges(symbols: _Symbols, names: set[str]) -> list[tuple[int, int]]:
    """What is to be printed for functions of these names: neighbours at once."""
    near = 1 << 16
    out: list[tuple[int, int]] = []
    for start, (size, name) in sorted(symbols.functions.items()):
        if name not in names:
            continue
        if out and start < out[-1][1] + near:
            out[-1] = out[-1][0], max(out[-1][1], start + size)
        else:
            out.append((start, start + size))
    return out


def _line(told: str, symbols: _Symbols, start: int, end: int) -> tuple[str, ...]:
    """An instruction without addresses, and the names of those."""
    names: list[str] = []

    def named(address: int) -> str:
        inside = start <= address < end
        one = Name("itself", address - start, 0) if inside else symbols.name(address)
        names.append(f"{one.name}+{one.offset:#x}/{one.size}")
        return "@"

    def number(found: re.Match[str]) -> str:
        value = int(found[0], 16) % 2**64
        if value >= _KERNEL and symbols.starts[0] <= value < symbols.last:
            known = value >= next(one for one in symbols.starts if one >= _KERNEL)
            return named(value) if known else found[0]
        return found[0]

    beside = _BESIDE.search(told)
    if beside:
        named(int(beside[2], 16))
        told = told[: beside.start()] + "@(%rip)" + beside[1]
    elif "%gs:0x" in told and symbols.low:
        # Beside a register, a small number is where a structure has something.
        told = re.sub(
            r"%gs:(0x[0-9a-f]{3,}|0x[89a-f][0-9a-f]|0x[0-9a-f]+(?![0-9a-f(]))",
            lambda one: "%gs:" + named(int(one[1], 16)),
            told,
        )
    branch = None if beside else _BRANCH.search(told)
    if branch and re.match(r"(?:[a-z0-9,]+ )*(?:j|call|loop|xbegin)", told):
        named(int(branch[1], 16))
        told = told[: branch.start()] + "@"
    told = _NUMBER.sub(number, told)
    return (told.strip(), *names)
