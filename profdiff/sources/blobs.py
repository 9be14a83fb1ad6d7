"""Files of a revision, many from one process."""

from collections.abc import Iterable

from profdiff.base.errors import InputError
from profdiff.base.git import Git

LARGEST = 64 * 2**20
"""The largest file that is taken for a source, in bytes."""


def inside(path: str) -> bool:
    """Whether ``path`` is relative and names nothing outside of its tree, nor two things at
    once."""
    parts = path.split("/")
    return bool(path) and not {"", ".", ".."} & set(parts) and not set(path) & {"\n", "\0"}


def files(git: Git, revision: str, paths: Iterable[str]) -> dict[str, bytes]:
    """The content of the files among ``paths`` that ``revision`` (a full hash) has."""
    asked = sorted({path for path in paths if inside(path)})
    if not asked:
        return {}
    # Sizes first, so that nothing larger than a source is ever sent.
    question = b"".join(f"{revision}:{path}\n".encode(errors="surrogateescape") for path in asked)
    told = git.run(
        "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)", stdin=question
    ).split(b"\n")
    wanted: dict[str, bytes] = {}
    for path, line in zip(asked, told, strict=False):
        words = line.split(b" ")
        if len(words) == 3 and words[0] == b"blob" and int(words[1]) <= LARGEST:
            wanted[path] = words[2]
    objects = _blobs(git, sorted(set(wanted.values())))
    return {path: objects[name] for path, name in wanted.items()}


def _blobs(git: Git, names: list[bytes]) -> dict[bytes, bytes]:
    if not names:
        return {}
    output = git.run("cat-file", "--batch", stdin=b"\n".join(names) + b"\n")
    found = {}
    at = 0
    for name in names:
        end = output.find(b"\n", at)
        words = output[at:end].split(b" ")
        if len(words) != 3 or words[1] != b"blob":
            raise InputError(
                f"{git.shown}: the object {name.decode()} is missing: git -C {git.shown} fsck"
            )
        size = int(words[2])
        found[name] = output[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def line_counts(git: Git, revision: str, paths: Iterable[str]) -> dict[str, int]:
    """How many lines each of the files has that ``revision`` has."""
    return {
        path: content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
        for path, content in files(git, revision, paths).items()
    }
