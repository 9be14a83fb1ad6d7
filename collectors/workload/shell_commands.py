"""The commands that a shell script calls, as far as reading tells: which of them a guest lacks."""

import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

_SHELL = re.compile(r"#!\s*(?:\S*/env\s+)?\S*?\b(?:ba|da|a|k)?sh\b|#!\s*\S*busybox")
_MAX_SCRIPT = 1 << 20
# POSIX.1-2024, Shell Command Language, 2.4 and 2.15; bash(1), SHELL BUILTIN COMMANDS.
_RESERVED = """
    . : [ [[ alias bg break builtin case cd command continue coproc declare dirs disown do done
    echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help
    history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
    return select set shift shopt source suspend test then time times trap true type typeset ulimit
    umask unalias unset until wait while { } !
"""
_OF_THE_SHELL = frozenset(_RESERVED.split())
# What comes before a command on its line.
_BEFORE = re.compile(r"(?:then|do|else|elif|if|while|until|time|exec|sudo|nice|command|!|\{)\s+")
_PARTS = re.compile(r"&&|\|\||[;|&`]|\$\(|\(")
_WORD = re.compile(r"(?:[A-Za-z_]\w*=\S*\s+)*([A-Za-z0-9_][A-Za-z0-9_.+-]*)(?=\s|$|\))")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*(?:\(\s*\)|(?<=\s)\{)", re.M)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


def lacking(script: Path, known: Collection[str]) -> list[str]:
    """The programs of this machine that a shell script calls by a bare name and that are neither
    the shell's own, nor busybox's, nor ``known``; in their order. What cannot be read has none."""
    try:
        with script.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_SCRIPT)
    except OSError:
        return []
    if not _SHELL.match(text):
        return []
    here = {*known, *_OF_THE_SHELL, *_FUNCTION.findall(text)}
    called = [name for name in dict.fromkeys(_called(text)) if name not in here]
    if not called:
        return []
    applets = _applets()
    return [name for name in called if name not in applets and shutil.which(name)]


def _called(text: str) -> Iterator[str]:
    """Words where a command begins."""
    end = ""
    for line in text.replace("\\\n", " ").splitlines():
        if end:
            end = "" if line.strip() == end else end
            continue
        plain = re.sub(r"'[^']*'", "''", line)
        plain = re.sub(r"(?:^|\s)#.*", "", plain)
        for part in _PARTS.split(plain):
            found = part.strip().strip('"')
            while before := _BEFORE.match(found):
                found = found[before.end() :]
            if word := _WORD.match(found):
                yield word[1]
        if here := _HEREDOC.search(plain):
            end = here[2]


def _applets() -> frozenset[str]:
    """What busybox is called for; all that this machine's knows, empty where there is none."""
    busybox = shutil.which("busybox")
    if busybox is None:
        return frozenset()
    listed = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, text=True, check=False)
    return frozenset(listed.stdout.split())
