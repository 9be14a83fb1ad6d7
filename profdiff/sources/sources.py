"""The source tree that one kernel was built from: a folder, or a revision of a git repository.
Whatever files and links of a folder say, nothing outside of it is read."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from profdiff.base.bounded import read
from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.base.terminal import printable
from profdiff.sources import blobs
from profdiff.sources.repository import Repository


class Folder(msgspec.Struct, frozen=True):
    """``path``: without links. ``_read``: the objects that git would call the files."""

    path: Path
    _read: dict[str, str] = msgspec.field(default_factory=dict)

    def content(self, file: str) -> bytes | None:
        """The content of a file, None where the tree has no such regular file, or one larger than
        64 MiB."""
        if not blobs.inside(file):
            return None
        try:
            real = (self.path / file).resolve(strict=True)
            if not real.is_relative_to(self.path):
                return None
            content = read(real, blobs.LARGEST)
        except (OSError, RuntimeError):  # a circle of links is a RuntimeError
            return None
        # A file's name in git, which is not a signature.
        name = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        self._read[file] = name.hexdigest()
        return content

    def changed(self) -> list[str]:
        """Those of the files read that differ from the newest commit, where the folder is a git
        work tree. git compares nothing itself: it would run the filters that the tree names."""
        if not self._read or not (self.path / ".git").exists():
            return []
        try:
            git = Git.open(self.path)
            output = git.run("ls-tree", "-r", "-z", "HEAD", "--", *sorted(self._read))
        except InputError:
            return []
        known = dict(_objects(output.decode(errors="surrogateescape").split("\0")[:-1]))
        return [file for file, name in sorted(self._read.items()) if known.get(file, name) != name]


def _objects(rows: Iterable[str]) -> Iterable[tuple[str, str]]:
    """(file, object) of each row of ``MODE TYPE OBJECT<tab>FILE``; of SHA-1 only."""
    for row in rows:
        words, _, file = row.partition("\t")
        name = words.split(" ")[-1]
        if len(name) == 40:
            yield file, name


_VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL)\s*=\s*(\d+)\s*$", re.MULTILINE)
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class Sources(msgspec.Struct, frozen=True):
    """``label``: the kernel's; ``shown``: the tree as the user named it; ``revision``: the full
    hash of the commit, None of a folder."""

    label: str
    shown: str
    revision: str | None
    _tree: Folder | Repository
    _known: dict[str, tuple[str, ...] | None] = msgspec.field(default_factory=dict)

    @staticmethod
    def open(label: str, spec: str) -> "Sources":
        """``spec``: a folder, or REPO@REV. Raises InputError that says what to name instead."""
        path = Path(spec)
        if path.is_dir():
            if not _is_bare(path):
                return Sources(label, spec, None, _folder(label, spec, path))
            raise InputError(
                f"--source {label}={spec}: it is a bare repository: name a revision, "
                f"{label}={spec}@REV"
            )
        if path.is_file():
            raise InputError(
                f"--source {label}={spec}: it is a file: unpack it (tar xf {spec}) and name the "
                "folder"
            )
        for at in (i for i, sign in enumerate(spec) if sign == "@"):
            repository, revision = Path(spec[:at]), spec[at + 1 :]
            if repository.is_dir():
                if not revision:
                    raise InputError(f"--source {label}={spec}: name a revision after the @")
                opened = Repository.open(repository)
                return Sources(label, spec, opened.commit(revision), opened)
        raise InputError(
            f"--source {label}={spec}: there is no such folder; name a source tree or REPO@REV"
        )

    @staticmethod
    def of_commit(label: str, repository: Path, commit: str) -> "Sources":
        """What profdiff built a kernel from: ``commit`` of a repository, and no folder whatever its
        name. Raises InputError."""
        opened = Repository.open(repository)
        return Sources(label, f"{repository}@{commit}", opened.commit(commit), opened)

    def read(self, files: Iterable[str]) -> None:
        """Read files ahead, which is quicker than one by one."""
        missing = sorted({file for file in files if file not in self._known})
        if isinstance(self._tree, Folder) or self.revision is None:
            return
        found = self._tree.files(self.revision, missing)
        for file in missing:
            self._known[file] = _split(found[file]) if file in found else None

    def lines(self, file: str) -> Sequence[str] | None:
        """The lines of a file as the debug information names it, relative to the tree; None where
        the tree has no such file: generated ones, the compiler's own, those outside."""
        if file not in self._known:
            if isinstance(self._tree, Folder):
                content = self._tree.content(file)
                self._known[file] = None if content is None else _split(content)
            else:
                self.read([file])
        return self._known[file]

    def check_release(self, release: str) -> None:
        """Raises InputError where the tree's Makefile names another version than ``release``."""
        version, wanted = self._version(), _RELEASE.match(release)
        if version is None or wanted is None:
            return
        expected = tuple(int(part or 0) for part in wanted.groups())
        if version != expected:
            raise InputError(
                f"--source {self.label}={self.shown}: these are the sources of "
                f"{'.'.join(map(str, version))}, and the kernel is {release}: name the tree that "
                "it was built from"
            )

    def misfit(self, file: str, last_line: int, functions: Mapping[str, int]) -> str | None:
        """Why a file is not the one that was compiled, in one sentence; None where nothing speaks
        against it, or the tree has no such file. ``last_line``: the largest line that the debug
        information names in it; ``functions``: lines that declare them, by name."""
        lines = self.lines(file)
        if lines is None:
            return None
        where = f"{printable(file)} of {self.shown} is not what {self.label} was built from: it has"
        if last_line > len(lines):
            own = f"{len(lines)} line" + ("s" if len(lines) != 1 else "")
            return f"{where} {own}, and the debug information names line {last_line}"
        said = {name: declares(lines, name, line) for name, line in functions.items() if line > 0}
        wrong = sorted(name for name, right in said.items() if not right)
        # Macros declare functions under names that their lines do not hold.
        if wrong and 2 * len(wrong) > len(said):
            name = wrong[0]
            return f"{where} no {printable(name)} in line {functions[name]}"
        return None

    def note(self) -> str | None:
        """A sentence where files that were read have changes that no commit has."""
        changed = self._tree.changed() if isinstance(self._tree, Folder) else []
        if not changed:
            return None
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return (
            f"{self.shown} has changes that are not committed, in {printable(changed[0])}{more}; "
            f"{self.label} may have been built without them"
        )

    def _version(self) -> tuple[int, int, int] | None:
        """What the top Makefile of a kernel says."""
        lines = self.lines("Makefile")
        said = dict(_VERSION.findall("\n".join(lines[:20]))) if lines else {}
        if len(said) < 3:
            return None
        return int(said["VERSION"]), int(said["PATCHLEVEL"]), int(said["SUBLEVEL"])


def _folder(label: str, spec: str, path: Path) -> Folder:
    """The tree; where the folder only holds one, as after unpacking a package, says so."""
    if not (path / "Makefile").exists():
        inner = sorted(one.parent for one in path.glob("*/Kbuild"))[:1]
        if inner:
            raise InputError(
                f"--source {label}={spec}: the source tree is the folder in it: {label}={inner[0]}"
            )
    return Folder(path.resolve())


def _is_bare(path: Path) -> bool:
    return all((path / name).exists() for name in ("HEAD", "objects", "refs"))


def _split(content: bytes) -> tuple[str, ...]:
    """Lines as compilers count them."""
    text = content.decode(errors="replace")
    return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))


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
