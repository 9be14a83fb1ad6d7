"""What is said that code accesses, against what its lines say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from data_oracles.compiled import Compiled, Instruction, touches_memory
from data_oracles.records import Place
from data_oracles.rows import Answer

from profdiff.symbolization import data_accesses as known

_STACK = ("rsp", "rbp", "sp", "x29")
_PAIRS = ("ldp", "ldnp", "stp")
# Among how many instructions the line may be of a bit field that is loaded, or of one of a pair;
# and of any other that was scheduled.
_NEAR, _BESIDE = 24, 3
_NAMED = ("field", "global", "per-cpu", "stack-variable")


@dataclass
class Verdict:
    """``kinds`` and ``reasons``: how many accesses there are of each; ``wrong``: answers that the
    lines contradict, with what is wrong. Of those that are right, ``exact``: that name the line's
    field, ``other``: that have it among the alternatives of a union; ``beside``: how many of both
    have the line of another instruction; ``unknown``: of what the compiler says no line."""

    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Answer, Instruction, str]] = field(default_factory=list)
    exact: int = 0
    other: int = 0
    beside: int = 0
    unknown: int = 0

    @property
    def resolved(self) -> float:
        """The share of what is no push, call or spill."""
        apart = sum(self.kinds[one] for one in ("push", "call", "spill", "canary"))
        return 1 - self.kinds["unresolved"] / max(sum(self.kinds.values()) - apart, 1)

    def add(self, other: "Verdict") -> None:
        """Add that of another program."""
        self.kinds += other.kinds
        self.reasons += other.reasons
        self.wrong += other.wrong
        self.exact += other.exact
        self.other += other.other
        self.beside += other.beside
        self.unknown += other.unknown


class Judge:
    """Knows what the code of a compiled program accesses."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._at = {one.address: one for one in compiled.instructions}
        self._number = {one.address: at for at, one in enumerate(compiled.instructions)}
        self._records = set(compiled.program.records.every)

    def judge(self, rows: Sequence[Answer]) -> Verdict:
        """Judge all that is said of a program."""
        verdict = Verdict()
        said = {row.address for row in rows}
        for one in self._compiled.instructions:
            if touches_memory(one, self._compiled.compiler.architecture) != (one.address in said):
                nothing = Answer(one.address, "", "", "", "", "", (), (), 0, 0, 0, 0)
                verdict.wrong.append((nothing, one, "whether it accesses memory"))
        for row in rows:
            verdict.kinds[row.kind] += 1
            verdict.reasons[row.reason] += 1
            instruction = self._at[row.address]
            if problem := self.problem(row):
                verdict.wrong.append((row, instruction, problem))
            elif not instruction.line:
                verdict.unknown += 1
            elif row.kind in _NAMED and row.path:
                every = self._lines(row)
                exact = self._is_there(row, Place(row.record, row.path), every)
                verdict.exact += exact
                verdict.other += not exact
                verdict.beside += not self._is_named(row, [instruction.line])
        return verdict

    def problem(self, row: Answer) -> str:
        """What is wrong with an answer; "" where nothing is."""
        instruction = self._at[row.address]
        if not instruction.line:
            return ""
        if row.kind in ("spill", "canary", "stack-variable"):
            of_stack = any(one in instruction.text for one in _STACK)
            guard = row.symbol == "__stack_chk_guard"
            is_own = row.symbol.startswith("on_stack") or self._may_be_on_stack(instruction)
            if not of_stack and not guard and not is_own:
                return "not on the stack"
        if row.kind == "stack-variable" and row.record not in self._records:
            return ""
        if row.kind in ("global", "per-cpu"):
            variables = set[str]().union(
                *(self._compiled.program.variables[line] for line in self._lines(row))
            )
            # The number behind a static local's name is the compiler's.
            if row.symbol.split(".")[0] not in variables:
                return f"not {' or '.join(variables) or 'a variable'}"
            if row.record.split("[")[0] not in self._records:
                return ""
        if row.kind not in _NAMED or (not row.path and row.flags & int(known.COMPUTED)):
            return ""
        return self._field_problem(row)

    def _field_problem(self, row: Answer) -> str:
        if not self._is_named(row, self._lines(row)):
            return "another field"
        own = self._compiled.offsets.get(Place(_stripped(row.record), _within(row.path)))
        if own and "[]" not in row.path and not row.record.endswith("]"):
            start, size = own
            wide = row.size if row.flags & int(known.WIDER) else 0
            if not start - wide <= row.offset < start + size:
                return f"its offset is {start}"
        return ""

    def _may_be_on_stack(self, instruction: Instruction) -> bool:
        places = self._compiled.program.places[instruction.line]
        return any(place.path == "*" for place in places) or "on_stack" in self._text(instruction)

    def _text(self, instruction: Instruction) -> str:
        return self._compiled.program.lines[instruction.line - 1]

    def _is_named(self, row: Answer, lines: Sequence[int]) -> bool:
        """Whether some lines access what an answer says, or one of its alternatives."""
        paths = (row.path, *row.others)
        return any(self._is_there(row, Place(row.record, path), lines) for path in paths)

    def _is_there(self, row: Answer, said: Place, lines: Sequence[int]) -> bool:
        """Whether some lines access a place."""
        places = self._compiled.program.places
        true = set[Place]().union(*(places[line] for line in lines))
        own = Place(_stripped(said.record), _within(said.path))
        if any(_same(own, one) for one in true):
            return True
        # The first of several fields; among alternatives, of several bit fields.
        wide = row.flags & int(known.WIDER) and said.path == row.path
        return any(
            self._is_within(row, own.record, one)
            for one in true
            if wide or (row.others and one not in self._compiled.offsets)
        )

    def _lines(self, row: Answer) -> list[int]:
        """The lines that an access may belong to. clang does not say to which a load of a bit field
        belongs; and of two accesses in one instruction, which two lines need, it names one line."""
        first = self._number[row.address]
        code = self._compiled.instructions
        # A scheduled instruction may get the line of one beside it.
        near = code[max(first - _BESIDE, 0) : first + _BESIDE + 1]
        may_be_bits = row.others or row.flags & int(known.BIT_FIELD)
        if may_be_bits and not row.flags & int(known.STORE):
            near = code[first : first + _NEAR]
        elif code[first].text.startswith(_PAIRS):
            near = code[max(first - _NEAR, 0) : first + _NEAR]
        lines = [one.line for one in near]
        if code[first].text.startswith(_PAIRS):
            lines += [line + more for line in lines for more in (-2, -1, 1, 2)]
        # gcc may give the store of a constant the line behind its own.
        return [*lines, code[first].line - 1] if row.flags & int(known.STORE) else lines

    def _is_within(self, row: Answer, record: str, true: Place) -> bool:
        """Whether a wide access takes a place in."""
        if true.record != record:
            return False
        # Of bit fields C does not say it, and here it is of the first of an array's elements.
        start, _ = self._compiled.offsets.get(true, (row.offset, 0))
        start = row.offset if "[]" in true.path else start
        return row.offset <= start < row.offset + row.size


def _same(said: Place, true: Place) -> bool:
    if said.record != true.record:
        return False
    if true.path.endswith("*"):
        return said.path.startswith(true.path[:-1])
    return said.path == true.path


def _stripped(record: str) -> str:
    return record.split("[")[0]


def _within(path: str) -> str:
    """A path in an array's element."""
    return path.removeprefix("[]").removeprefix(".")
