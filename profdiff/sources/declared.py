"""Whether a source file declares a function where the debug information says so: if it does not, it
is of another version."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"[A-Za-z_]\w*")
# Shorter words are parts of many names.
_LONG = 4
_TYPES = frozenset(
    ["bool", "char", "const", "inline", "long", "static", "struct", "unsigned", "void"]
)
# Relative to the line that declares a function: where its name, or a macro with it, may be.
_NEAR = range(-1, 3)
# What a name and a word have in common at least, where a macro made the name.
_COMMON = 6


def declares(lines: Sequence[str] | Sequence[bytes], name: str, line: int) -> bool:
    """Whether a function of this name may be declared in that line, from 1: macros make names of
    parts, such as ``__do_sys_mprotect`` of ``SYSCALL_DEFINE3(mprotect, ...)``."""
    near = [lines[line - 1 + at] for at in _NEAR if 0 <= line - 1 + at < len(lines)]
    texts = [one if isinstance(one, str) else one.decode(errors="replace") for one in near]
    found = {word for text in texts for word in _WORD.findall(text)}
    if name in found:
        return True
    words = {_plain(word) for word in found - _TYPES if len(word) >= _LONG}
    plain = _plain(name)
    if any(word and word in plain for word in words):
        return True
    least = max(_COMMON, len(plain) // 2)
    return any(
        SequenceMatcher(None, plain, word, autojunk=False).find_longest_match().size >= least
        for word in words
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
