"""The source tree that one kernel was built from: a folder, or a revision of a git repository."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from profdiff.base.errors import InputError
from profdiff.base.terminal import printable
from profdiff.sources.declared import declares
from profdiff.sources.folder import Folder
from profdiff.sources.repository import Repository

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
