"""What options depend on, as a source tree's Kconfig files say it
(Documentation/kbuild/kconfig-language.rst), and what must be set so that one can be set.

``depends on``, ``if``, ``menu``, ``choice``, ``select`` and conditions of prompts are read. What
becomes of a config, Kconfig itself tells (``toggles``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from profdiff.base.bounded import read
from profdiff.base.errors import InputError
from profdiff.base.units import few

# Linux 7.3 has 1,700 files, the longest of 130 kB.
_MAX_FILES, _MAX_BYTES, _MAX_DEPTH, _MAX_TOKENS = 20_000, 4 << 20, 50, 500
# So many expressions are looked at for one option.
_MAX_STEPS = 20_000
_NAMED = 4
_TOKEN = re.compile(
    r"""\s*(&&|\|\||!=|<=|>=|[()!=<>]|"[^"]*"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|[\w.-]+)"""
)
_ENTRY = re.compile(r"(?:menu)?config\s+(\w+)")
_TYPE = re.compile(r"(bool|tristate|int|hex|string|prompt|def_bool|def_tristate)\b(.*)")
_TEXT = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*')""")
_SOURCE = re.compile(r"""o?r?source\s+["']?([^"']+)""")
_VALUES = {"n": 0, "m": 1, "y": 2}


@dataclass(frozen=True)
class Literal:
    """An option that is y or m, or ``off``."""

    name: str
    off: bool = False


@dataclass(frozen=True)
class Compared:
    """Two values, of which one is ``unequal`` to the other or not."""

    left: str
    right: str
    unequal: bool


@dataclass(frozen=True)
class Combined:
    """All of some, or ``either``; without parts, what nobody can tell, which counts as true."""

    parts: tuple["Expression", ...] = ()
    either: bool = False


Expression = Literal | Compared | Combined
Settings = Mapping[str, str]


class UnmetError(InputError):
    """An option cannot be set."""


@dataclass
class Option:
    """``prompts``: of each entry with a prompt, under which conditions a user sees it. ``choice``:
    the other members of the choice that it is one of. ``selected``: by which options."""

    prompts: list[Sequence[Expression]] = field(default_factory=list)
    choice: list[str] | None = None
    selected: list[str] = field(default_factory=list)
    defined: bool = False


class Kconfig(dict[str, Option]):
    """The options of a tree by their names, without ``CONFIG_``."""

    _steps = 0

    @staticmethod
    def read(tree: Path, source_architecture: str) -> "Kconfig":
        """What can be read of them. ``source_architecture``: what Linux calls SRCARCH."""
        found = Kconfig()
        _Reader(found, tree.resolve(), source_architecture).file("Kconfig", ())
        return found

    def needed(self, name: str, value: str, config: Settings) -> dict[str, str]:
        """The options besides it that must be set so that ``name`` can be, where others are as in
        ``config``. Raises UnmetError."""
        own = {name: value}
        self._steps = 0
        if value == "n":
            if choice := self.get(name, Option()).choice:
                others = few([one for one in choice if one != name], _NAMED)
                raise UnmetError(f"it is one of a choice: toggle another one of it ({others})")
            found = self._visible(name, config, own, 0)
        else:
            found = self._on(name, config, own, 0)
        del found[name]
        return found

    def _visible(
        self, name: str, config: Settings, wanted: dict[str, str], depth: int
    ) -> dict[str, str]:
        """``wanted``, and what makes an option one that a user sees. Raises UnmetError."""
        option = self.get(name)
        if option is None or not option.defined:
            raise UnmetError(f"the source has no option {name}")
        if not option.prompts:
            raise UnmetError(f"it is not possible to set {name}: it follows from other options")
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            raise UnmetError(f"{name} depends on too many others")
        return _cheapest(
            partial(self._all, conditions, config, wanted, depth + 1)
            for conditions in option.prompts
        )

    def _on(
        self, name: str, config: Settings, wanted: dict[str, str], depth: int
    ) -> dict[str, str]:
        for other in self.get(name, Option()).choice or ():
            if other != name and config.get(other, "n") != "n":
                wanted = _with(wanted, other, "n")
        return self._visible(name, config, wanted, depth)

    def _all(
        self, parts: Iterable[Expression], config: Settings, wanted: dict[str, str], depth: int
    ) -> dict[str, str]:
        for part in parts:
            wanted = self._true(part, config, wanted, depth)
        return wanted

    def _true(
        self, expression: Expression, config: Settings, wanted: dict[str, str], depth: int
    ) -> dict[str, str]:
        """``wanted``, and what makes an expression true. Raises UnmetError."""
        self._steps += 1
        if isinstance(expression, Combined):
            if not expression.either:
                return self._all(expression.parts, config, wanted, depth)
            return _cheapest(
                partial(self._true, part, config, wanted, depth) for part in expression.parts
            )
        if isinstance(expression, Compared):
            left, right = (
                wanted.get(one, config.get(one, one)) for one in (expression.left, expression.right)
            )
            if (left != right) is not expression.unequal:
                raise UnmetError(f"it depends on the value of {expression.left}")
            return wanted
        name, off = expression.name, expression.off
        value = wanted.get(name, config.get(name, name if name in _VALUES else "n"))
        if (value == "n") is off:
            return wanted
        if name in _VALUES or name in wanted:
            raise UnmetError(f"it depends on {name} to be {'off' if off else 'on'}")
        wanted = _with(wanted, name, "n" if off else "y")
        try:
            return (self._visible if off else self._on)(name, config, wanted, depth + 1)
        except UnmetError as error:
            raise UnmetError(f"it depends on {'!' * off}{name}: {error}") from error


def _with(wanted: dict[str, str], name: str, value: str) -> dict[str, str]:
    if wanted.get(name, value) != value:
        raise UnmetError(f"it needs {name} to be both {wanted[name]} and {value}")
    return {**wanted, name: value}


def _cheapest(ways: Iterable[Callable[[], dict[str, str]]]) -> dict[str, str]:
    """What sets the fewest options. Raises the first UnmetError where no way is open."""
    found: list[dict[str, str]] = []
    first: UnmetError | None = None
    for way in ways:
        try:
            found.append(way())
        except UnmetError as error:
            first = first or error
    if not found:
        raise first or UnmetError("its dependencies are not known")
    return min(found, key=len)


class _Reader:
    """Fills ``found`` with what the files of a tree say."""

    def __init__(self, found: Kconfig, tree: Path, source_architecture: str) -> None:
        self._found, self._tree = found, tree
        self._variables = {"SRCARCH": source_architecture, "ARCH": source_architecture}
        self._files = 0
        # Around the line that is read: conditions, and the members of a choice.
        self._around: list[tuple[str, list[Expression]]] = []
        self._choices: list[list[str]] = []

    def file(self, name: str, seen: tuple[str, ...]) -> None:
        """Read one, and those that it names; what is not there, or not in the tree, is left out."""
        path = (self._tree / self._expanded(name)).resolve()
        self._files += 1
        inside = path.is_relative_to(self._tree)
        if name in seen or len(seen) > _MAX_DEPTH or self._files > _MAX_FILES or not inside:
            return
        with suppress(OSError):
            self._lines(read(path, _MAX_BYTES).decode(errors="replace"), (*seen, name))

    def _lines(self, text: str, seen: tuple[str, ...]) -> None:
        entry: _Entry | None = None
        for line in _statements(text):
            word = line.split(maxsplit=1)[0]
            if match := _ENTRY.match(line):
                entry = self._entry(match[1])
            elif match := _SOURCE.match(line):
                entry = None
                self.file(match[1].strip(), seen)
            elif word in ("menu", "if", "choice"):
                entry = None
                conditions = [parse(line[2:])] if word == "if" else []
                self._around.append((word, conditions))
                if word == "choice":
                    self._choices.append([])
            elif word in ("endmenu", "endif", "endchoice"):
                entry = None
                if self._around:
                    self._around.pop()
                if word == "endchoice" and self._choices:
                    self._choices.pop()
            elif word in ("comment", "mainmenu"):
                # What it depends on is its own.
                entry = _Entry(Option(), [])
            else:
                self._attribute(entry, line)

    def _entry(self, name: str) -> "_Entry":
        option = self._found.setdefault(name, Option())
        option.defined = True
        if self._choices:
            option.choice = self._choices[-1]
            option.choice.append(name)
        around = [one for _, conditions in self._around for one in conditions]
        return _Entry(option, around, name)

    def _attribute(self, entry: "_Entry | None", line: str) -> None:
        if match := re.match(r"depends\s+on\s+(.+)|visible\s+if\s+(.+)", line):
            text, _, when = (match[1] or match[2]).partition(" if ")
            condition = parse(f"!({when}) || ({text})" if when else text)
            if entry:
                entry.conditions.append(condition)
            elif self._around:
                self._around[-1][1].append(condition)
        elif entry is None:
            return
        elif match := re.match(r"select\s+(\w+)", line):
            self._found.setdefault(match[1], Option()).selected.append(entry.name)
        elif (match := _TYPE.match(line)) and (text := _TEXT.match(match[2])):
            _, _, when = match[2][text.end() :].partition(" if ")
            if when:
                entry.conditions.append(parse(when))
            if not match[1].startswith("def_"):
                entry.option.prompts.append(entry.conditions)

    def _expanded(self, name: str) -> str:
        return re.sub(r"\$\(?(\w+)\)?", lambda one: self._variables.get(one[1], ""), name)


@dataclass
class _Entry:
    """An option's entry, and under which conditions it is seen."""

    option: Option
    conditions: list[Expression]
    name: str = ""


def _statements(text: str) -> Iterator[str]:
    """Lines that say something, without help texts, which are indented as their first line is."""
    helps: int | None = None
    in_help = False
    for line in text.replace("\\\n", " ").expandtabs().splitlines():
        bare = line.strip()
        if not bare or (bare.startswith("#") and not in_help):
            continue
        indent = len(line) - len(line.lstrip())
        if in_help:
            if helps is None and indent:
                helps = indent
            if helps is not None and indent >= helps:
                continue
            in_help = False
        if bare in ("help", "---help---"):
            in_help, helps = True, None
            continue
        yield bare


def parse(text: str) -> Expression:
    """An expression; one that cannot be read counts as true."""
    words = _TOKEN.findall(text.partition(" #")[0])[:_MAX_TOKENS]
    try:
        return _either(words, False)
    except (IndexError, RecursionError):
        return Combined()


def _either(words: list[str], negated: bool) -> Expression:
    parts = [_both(words, negated)]
    while words[:1] == ["||"]:
        del words[0]
        parts.append(_both(words, negated))
    return parts[0] if len(parts) == 1 else Combined(tuple(parts), either=not negated)


def _both(words: list[str], negated: bool) -> Expression:
    parts = [_single(words, negated)]
    while words[:1] == ["&&"]:
        del words[0]
        parts.append(_single(words, negated))
    return parts[0] if len(parts) == 1 else Combined(tuple(parts), either=negated)


def _single(words: list[str], negated: bool) -> Expression:
    word = words.pop(0)
    if word == "!":
        return _single(words, not negated)
    if word == "(":
        found = _either(words, negated)
        del words[:1]
        return found
    if words[:1] in (["="], ["!="]):
        unequal = (words.pop(0) == "!=") is not negated
        left, right = word, words.pop(0)
        if right in _VALUES and left not in _VALUES and right != "m":
            return Literal(left, off=(right == "n") is not unequal)
        return Compared(left.strip("\"'"), right.strip("\"'"), unequal)
    if words[:1] and words[0] in ("<", "<=", ">", ">="):
        # Versions of compilers, mostly.
        del words[:2]
        return Combined()
    if not (word[0].isalnum() or word[0] == "_"):
        return Combined()
    return Literal(word, negated)
