"""What differs between files, as ranges of lines: git's diff, for which white space is the same."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.base.temporary import temporary_folder

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMMIT = re.compile(rb"[0-9a-f]{40,64}")
_DIFF = ("-p", "-U0", "-w", "--text", "--no-ext-diff", "--no-textconv", "--no-color")


class Hunk(msgspec.Struct, frozen=True):
    """Lines ``base`` of a file were replaced by lines ``new``; ranges from 1, perhaps empty."""

    base: range
    new: range


def between(
    git: Git, base: str, new: str, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], list[Hunk]]:
    """What differs between the files of each pair."""
    renamed = [(old, now) for old, now in pairs if old and now and old != now]
    names = sorted({name for pair in pairs if pair not in renamed for name in pair if name})
    found: dict[tuple[str, str], list[Hunk]] = {}
    if names:
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        command = ("diff-tree", "-r", "--no-renames", *_DIFF, *prefixes, base, new, "--", *names)
        found = _parsed(git.run(*command).split(b"\n"))
    blobs = [("diff", *_DIFF, f"{base}:{old}", f"{new}:{now}") for old, now in renamed]
    for pair, said in zip(renamed, git.run_all(blobs), strict=True):
        found[pair] = [hunk for hunks in _parsed(said.split(b"\n")).values() for hunk in hunks]
    return found


def changes(
    git: Git, edges: Sequence[tuple[str, str]], names: Collection[str]
) -> Iterator[dict[str, tuple[str, Sequence[Hunk]]]]:
    """For each (commit, parent), by the name that a file has in the parent: the name that it has in
    the commit, "" for none, and what differs."""
    if not edges or not names:
        yield from ({} for _ in edges)
        return
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    command = ("diff-tree", "--stdin", "--always", "-r", "-M", *_DIFF, *prefixes)
    question = "".join(f"{commit} {parent}\n" for commit, parent in edges).encode()
    lines = git.run(*command, "--", *sorted(names), stdin=question).split(b"\n")
    for change in _by_commit(lines):
        yield {old: (now, hunks) for (old, now), hunks in _parsed(change).items() if old}


def of_texts(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """What differs between the lines of two files that no repository has. Raises MissingError
    without git, InputError where it fails."""
    if old == new:
        return []
    with temporary_folder() as folder:
        for name, lines in (("old", old), ("new", new)):
            text = "".join(f"{line}\n" for line in lines)
            (folder / name).write_bytes(text.encode(errors="surrogatepass"))
        git = Git("two versions of a source file", folder)
        # A repository around the temporary folder has no say.
        git = git.given(GIT_CEILING_DIRECTORIES=str(folder.resolve().parent))
        # Its exit status says whether there is a difference.
        command = ("diff", "--no-index", *_DIFF, "--", "old", "new")
        output = git.succeeds(*command, fine=(0, 1))
    if output is None:
        raise InputError("git diff fails on two versions of a source file")
    return [hunk for hunks in _parsed(output.split(b"\n")).values() for hunk in hunks]


def _by_commit(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """What follows each line that is a hash; lines of files begin with a sign."""
    part: list[bytes] | None = None
    for line in lines:
        if _COMMIT.fullmatch(line):
            if part is not None:
                yield part
            part = []
        elif part is not None:
            part.append(line)
    if part is not None:
        yield part


def _parsed(lines: list[bytes]) -> dict[tuple[str, str], list[Hunk]]:
    """Hunks by the names of both sides, "" where a side has no such file."""
    found: dict[tuple[str, str], list[Hunk]] = {}
    hunks: list[Hunk] = []
    old = ""
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if line.startswith(b"--- "):
            old = _side(line[4:])
        elif line.startswith(b"rename from "):
            old = unquoted(line.removeprefix(b"rename from "))
        elif line.startswith(b"rename to "):
            hunks = found.setdefault((old, unquoted(line.removeprefix(b"rename to "))), [])
        elif line.startswith(b"+++ "):
            hunks = found.setdefault((old, _side(line[4:])), [])
        elif match := _HUNK.match(line):
            a, n, b, m = (1 if group is None else int(group) for group in match.groups())
            # An empty side is named by the line before it.
            first, second = a + (n == 0), b + (m == 0)
            hunks.append(Hunk(range(first, first + n), range(second, second + m)))
            left = n + m
            while left and i < len(lines):
                left -= not lines[i].startswith(b"\\")
                i += 1
    return found


def _side(name: bytes) -> str:
    """The file in ``a/FILE`` or ``b/FILE``, perhaps quoted; "" for ``/dev/null``."""
    text = unquoted(name.removesuffix(b"\t"))
    return "" if text == "/dev/null" else text[2:]


_ESCAPES = {b"n": b"\n", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"r": b"\r"}
_ESCAPE = re.compile(rb"\\(\d{3}|.)", re.DOTALL)


def unquoted(name: bytes) -> str:
    """A path as git prints it, quoted as in C where it has odd characters."""
    if name.startswith(b'"') and name.endswith(b'"') and len(name) > 1:

        def meant(match: re.Match[bytes]) -> bytes:
            one = match[1]
            if len(one) == 3:
                return bytes([int(one, 8) & 255])
            return _ESCAPES.get(one, b"\v" if one == b"v" else one)

        name = _ESCAPE.sub(meant, name[1:-1])
    return name.decode(errors="surrogateescape")
