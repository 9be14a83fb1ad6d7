"""A git repository, read by few processes. What it holds may be a stranger's."""

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.base.names import did_you_mean
from profdiff.sources import blobs, same_lines, trace
from profdiff.sources.same_lines import SameLines, SourceLine
from profdiff.sources.trace import Trace

__all__ = ["Commit", "Repository", "SameLines", "SourceLine", "Trace"]

_FORMAT = "%H%x00%an%x00%aI%x00%s"
_SUBJECT = 1000


class Commit(msgspec.Struct, frozen=True):
    """``author_date``: as in ISO 8601."""

    hash: str
    subject: str
    author: str
    author_date: str


class Repository(msgspec.Struct, frozen=True, dict=True):
    """``ignored``: files of revisions that blame passes over, the user's and those that
    ``blame.ignoreRevsFile`` names."""

    git: Git
    ignored: tuple[Path, ...] = ()

    @staticmethod
    def open(path: Path, ignore_revs: Path | None = None) -> "Repository":
        """The repository that ``path`` lies in, bare ones too. Raises InputError where there is
        none, or git does not trust it."""
        if ignore_revs and not ignore_revs.is_file():
            raise InputError(f"{ignore_revs}: no such file of revisions to ignore")
        git = Git.open(path)
        own = [git.top / Path(name).expanduser() for name in git.setting("blame.ignoreRevsFile")]
        wanted = [ignore_revs.resolve()] if ignore_revs else []
        # Many users name .git-blame-ignore-revs for all repositories, and few have one.
        return Repository(git, (*wanted, *(one for one in own if one.is_file())))

    def commit(self, revision: str) -> str:
        """The full hash of the commit that ``revision`` names. Raises InputError that says what is
        missing."""
        said = None
        if revision and not revision.startswith("-") and revision.isprintable():
            said = self.git.succeeds(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
            )
        if said:
            return said.decode().strip()
        raise InputError(
            f"{self.git.shown} has no revision {revision!r}: {self._instead(revision)}"
        )

    def _instead(self, revision: str) -> str:
        near = did_you_mean(revision, list(self.tags))
        fetch = "fetch --unshallow --tags" if self.git.shallow() else "fetch --tags"
        return near or f"git -C {self.git.shown} {fetch} may bring it"

    @cached_property
    def tags(self) -> dict[str, str]:
        """The full hash of the commit of each tag."""
        output = self.git.run(
            "for-each-ref",
            "--format=%(refname:lstrip=2)%00%(objectname)%00%(*objectname)",
            "refs/tags",
        )
        rows = (line.split("\0") for line in output.decode(errors="replace").splitlines())
        return {row[0]: row[2] or row[1] for row in rows if len(row) == 3}

    def commits(self, hashes: Iterable[str]) -> dict[str, Commit]:
        """What is said of each commit. Raises InputError for one that is missing."""
        asked = sorted(set(hashes))
        if not asked:
            return {}
        output = self.git.run(
            "log",
            "--no-walk=unsorted",
            "--stdin",
            "-z",
            f"--format={_FORMAT}",
            "--no-show-signature",
            "--encoding=UTF-8",
            "--no-patch",
            stdin="".join(f"{one}\n" for one in asked).encode(),
        )
        words = output.decode(errors="replace").split("\0")
        rows = zip(*(words[i::4] for i in range(4)), strict=False)
        return {
            name: Commit(name, subject[:_SUBJECT], author, date)
            for name, author, date, subject in rows
        }

    def files(self, revision: str, paths: Iterable[str]) -> dict[str, bytes]:
        """The content of the files among ``paths`` that ``revision`` has, of at most 64 MiB
        each."""
        return blobs.files(self.git, self.commit(revision), paths)

    def same_lines(self, base: str, new: str, paths: Iterable[str]) -> SameLines:
        """Which lines both revisions have in common, of files called one of ``paths`` in either."""
        return same_lines.same_lines(self.git, self.commit(base), self.commit(new), paths)

    def trace(
        self,
        base: str,
        new: str,
        added: Collection[SourceLine],
        removed: Collection[SourceLine],
        same: SameLines,
    ) -> Trace:
        """Which commits added lines of ``new`` and removed lines of ``base``, of those that
        ``same`` does not find on the other side. Raises InputError in a shallow clone, or without a
        common history."""
        ends = self.commit(base), self.commit(new)
        return trace.trace(self.git, *ends, set(added), set(removed), same, self.ignored)


_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-(rc\d+))?(?![.\d])")
_ABBREVIATED = re.compile(r"-g([0-9a-f]{7,40})(?![0-9a-f])")
_SAY = "name revisions: --base REV --new REV"


def revision(repository: Repository, release: str) -> str:
    """The full hash of the commit that ``release`` (``uname -r``, or a package's version) names, by
    the commit in it or by a tag. Raises InputError that says what to type."""
    where = repository.git.shown
    # scripts/setlocalversion writes 6.12.0-rc3-00042-g1a2b3c4d5e6f between two tags.
    if match := _ABBREVIATED.search(release):
        return repository.commit(match[1])
    tags = [tag for tag in candidates(release) if tag in repository.tags]
    commits = {repository.commit(f"refs/tags/{tag}") for tag in tags}
    if len(commits) == 1:
        return commits.pop()
    if tags:
        raise InputError(f"{where} has several tags for {release}: {', '.join(tags)}; {_SAY}")
    known = candidates(release)
    if not known:
        raise InputError(f"no release can be derived from {release!r}: {_SAY}")
    fetch = "fetch --unshallow --tags" if repository.git.shallow() else "fetch --tags"
    raise InputError(f"{where} has no tag {known[-1]}: git -C {where} {fetch}, or {_SAY}")


def candidates(release: str) -> list[str]:
    """Tags that may name a release: Debian's, for a package's version; then Linux's own."""
    match = _RELEASE.match(release)
    if match is None:
        return []
    major, minor, patch, candidate = match.groups()
    # A release writes 6.18.0 what the tag calls v6.18.
    version = f"{major}.{minor}" + (f".{patch}" if patch and int(patch) else "")
    version += f"-{candidate}" if candidate else ""
    # DEP-14 writes ~ as _, and git-buildpackage puts debian/ before it.
    package = re.fullmatch(r"[\w.+~-]+-\d[\w.+~]*", release)
    debian = [f"debian/{release.replace('~', '_')}"] if package else []
    return [*debian, f"v{version}"]
