"""Lines that only one config has compiled in: shown by the Makefile of their file, or by the #if
that they are in."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

from profdiff.evidence.blame.attribution import Option, Place
from profdiff.profile.comparison import Comparison
from profdiff.session.kernel_config import NOT_SET, OptionDifference

# The forms that show by themselves what they ask for.
_IF = re.compile(
    rb"\s*#\s*(?:ifdef\s+(?P<set>CONFIG_\w+)|ifndef\s+(?P<unset>CONFIG_\w+)|if\s+(?P<not>!?)\s*"
    rb"(?:defined|IS_ENABLED|IS_BUILTIN)\s*\(?\s*(?P<called>CONFIG_\w+)\s*\)?)\s*"
    rb"(?:/[*/].*)?$"
)
_DIRECTIVE = re.compile(rb"\s*#\s*(?:if|el|end)")
_OTHER_IF = re.compile(rb"\s*#\s*if")
_ELSE = re.compile(rb"\s*#\s*else\b")
_ELIF = re.compile(rb"\s*#\s*elif\b")
_END = re.compile(rb"\s*#\s*endif\b")
_OBJECT = re.compile(r"obj-\$\((CONFIG_\w+)\)\s*[+:]?=(.*)")

Texts = Mapping[str, Sequence[bytes]]
# An option, and whether it must be set for the line to be there.
Condition = tuple[str, bool]


def option_of(
    comparison: Comparison, kernel: int, texts: tuple[Texts, Texts], makefiles: Texts
) -> Option:
    """What says of a line that only one of the two kernels executes by which option of the config
    it is in that one alone, "" where nothing shows it. ``texts``: files of both revisions;
    ``makefiles``: those of the new one."""
    base, label = comparison.labels[0], comparison.labels[kernel]
    pairs = (one.between(base, label) for one in comparison.facts.config)
    differing = {pair.option: pair for pair in pairs if pair}

    @cache
    def around(file: str) -> list[tuple[int, list[Condition]]]:
        return enclosing(texts[1].get(file, ()))

    @cache
    def of_file(file: str) -> list[Condition]:
        path = PurePosixPath(file)
        lines = makefiles.get(str(path.parent / "Makefile"), ())
        return [(name, True) for name in compiled_by(lines, f"{path.stem}.o")]

    def option(new: Place, by_new: bool) -> str:
        if not differing:
            return ""
        with_it, without = (label, base) if by_new else (base, label)
        file, line = new
        inside = around(file)
        at = bisect_left(inside, line, key=lambda one: one[0]) - 1
        for name, wanted in [*inside[at][1], *of_file(file)]:
            one = differing.get(name)
            if one and _set(one, with_it) == wanted and _set(one, without) != wanted:
                return name
        return ""

    return option


def _set(one: OptionDifference, label: str) -> bool:
    return one.values[label] not in (None, NOT_SET)


def enclosing(lines: Sequence[bytes]) -> list[tuple[int, list[Condition]]]:
    """The options that the #if around lines ask for: from each line (from 1) on that is named, up
    to the next. Those of other forms are passed over."""
    stack: list[Condition | None] = []
    changes: list[tuple[int, list[Condition]]] = [(0, [])]
    for number, text in enumerate(lines, 1):
        if b"#" not in text or not _DIRECTIVE.match(text):
            continue
        if found := _IF.match(text):
            name = found["set"] or found["unset"] or found["called"]
            stack.append((name.decode(), not (found["unset"] or found["not"])))
        elif _OTHER_IF.match(text):
            stack.append(None)
        elif stack and _ELSE.match(text):
            above = stack[-1]
            stack[-1] = None if above is None else (above[0], not above[1])
        elif stack and _ELIF.match(text):
            stack[-1] = None
        elif stack and _END.match(text):
            stack.pop()
        changes.append((number, [one for one in stack if one]))
    return changes


def compiled_by(makefile: Sequence[bytes], name: str) -> list[str]:
    """The options that alone decide whether a Makefile of the kernel compiles an object."""
    text = b"\n".join(makefile).decode(errors="replace").replace("\\\n", " ")
    found = {
        (match[1] if name in match[2].split() else "")
        for match in _OBJECT.finditer(text)
        if name in match[2].split()
    }
    always = re.search(rf"obj-[ym]\s*[+:]?=.*(?<!\S){re.escape(name)}(?!\S)", text)
    return sorted(found) if len(found) == 1 and not always else []
