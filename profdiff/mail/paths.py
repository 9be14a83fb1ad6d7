"""Texts without the paths of the machine that they were made on: they are nobody's business, and
help nobody elsewhere."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from profdiff.session.manifest import Manifest

_PART = r"[^\s/'\"`=:,;()<>\[\]{}|&]+"
# Absolute, of the home folder, or relative to a folder above; one part alone says nothing.
_PATH = re.compile(rf"(?<![\w./~@%+-])((?:~[\w.-]*|\.{{1,2}})?/(?:{_PART}/+)*{_PART}/*)")
# What every machine has.
_EVERYWHERE = ("/proc/", "/sys/", "/dev/")


def without_paths(text: str) -> str:
    """``text`` with the last part of each path in place of the path."""
    return _PATH.sub(lambda match: _last(match[1]), text)


def _last(path: str) -> str:
    name = PurePosixPath(path).name
    if path.startswith(_EVERYWHERE) or path == f"/{name}" or path == f"./{name}":
        return path
    return name


def words_without_paths(words: Sequence[str]) -> list[str]:
    """The same of words of a command line, which may hold blanks."""
    return [_word(word) for word in words]


def _word(word: str) -> str:
    before, equals, value = word.partition("=")
    if equals and re.fullmatch(r"[\w.+-]+", before):
        return f"{before}={_word(value)}"
    if re.match(r"(?:~[\w.-]*|\.{1,2})?/", word):
        return _last(word)
    return without_paths(word)


def recorded(manifest: Manifest) -> tuple[list[str], bool]:
    """The command line of a recording: a kernel that was given as a path or a machine is named by
    its release, the workload by its file's name. Whether a kernel is. A commit tells
    anybody which kernel it is, also with patches from a folder."""
    workload = manifest.workload
    kernels = {
        one.spec: one
        for one in manifest.kernels
        if "/" in one.spec and not one.spec.startswith("git:")
    }
    if workload.kind == "imported":
        kernels = {}
    found, renamed = [], False
    for word in manifest.command:
        # --kernel LABEL=SPEC, --kernel=LABEL=SPEC, --kernel SPEC
        start = next((len(word) - len(spec) for spec in kernels if word.endswith(spec)), None)
        if start is not None and (start == 0 or word[start - 1] == "="):
            kernel = kernels[word[start:]]
            found.append(f"{word[:start]}{kernel.release or kernel.label}")
            renamed = True
        elif word in workload.argv[:1] and PurePosixPath(word).parent != PurePosixPath():
            found.append(PurePosixPath(word).name)
        else:
            found.append(_word(word))
    return found, renamed or bool(kernels)
