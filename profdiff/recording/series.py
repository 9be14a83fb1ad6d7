"""The commits of a series as the kernels of a ladder: ``[git:REPO@]BASE..TIP[,options]``."""

import contextlib
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.git_spec import PREFIX, split_repository
from profdiff.collectors.kernels.kinds import registry as kinds
from profdiff.collectors.kernels.kinds.git import FromGit
from profdiff.collectors.kernels.kinds.registry import KernelArgument
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.session.manifest import Kernel
from profdiff.session.session import Session
from profdiff.sources.repository import Repository

# Each commit is a build of minutes.
_MAX_COMMITS = 500
_LABEL, _DIGITS = 24, 7
BASE = "base"


@dataclass(frozen=True)
class Series:
    """``repository`` and ``options`` as the user wrote them: ``~/linux``, ``,cc=gcc-13`` or ""."""

    repository: str
    base: str
    tip: str
    options: str

    @staticmethod
    def parse(text: str) -> "Series":
        """Take it apart; without ``git:REPO@``, the repository is this folder's, and without TIP
        it ends at HEAD. Raises InputError."""
        repository, revisions = _repository(text)
        span, comma, options = revisions.partition(",")
        base, dots, tip = span.partition("..")
        if not dots or not base or tip.startswith("."):
            raise InputError(
                f"--series {text}: write BASE..TIP, or git:REPO@BASE..TIP, with options as of a "
                "kernel behind it (,cc=gcc-13)"
            )
        return Series(repository, base, tip or "HEAD", f"{comma}{options}")

    def kernels(self) -> list[str]:
        """``LABEL=SPEC`` of the base and of each commit, the oldest first: of a merge, what was
        merged is one step. Raises InputError where there are none, or too many."""
        repository = self._open()
        base, tip = repository.commit(self.base), repository.commit(self.tip)
        output = repository.git.run("rev-list", "--reverse", "--first-parent", f"{base}..{tip}")
        hashes = output.decode().split()
        named = f"--series {self.base}..{self.tip}"
        if not hashes:
            raise InputError(f"{named}: there is no commit in {self.repository} between them")
        if len(hashes) > _MAX_COMMITS:
            raise InputError(
                f"{named} has {len(hashes):,} commits: at most {_MAX_COMMITS} are built one by one"
            )
        before = repository.git.succeeds("rev-parse", "--verify", "--quiet", f"{hashes[0]}^")
        begins = (before or b"").decode().strip()
        if begins != base:
            meant = f": write {begins[:12]}..{self.tip}" if begins else ""
            raise InputError(f"{named} does not begin on {self.base}{meant}")
        told = repository.commits(hashes)
        digits = _digits(hashes)
        labels = [BASE, *(label(one[:digits], told[one].subject) for one in hashes)]
        return [
            f"{name}=git:{self.repository}@{one}{self.options}"
            for name, one in zip(labels, [base, *hashes], strict=True)
        ]

    def _open(self) -> Repository:
        try:
            return Repository.open(Path(self.repository).expanduser())
        except InputError as error:
            if self.repository != ".":
                raise
            raise InputError(
                f"--series {self.base}..{self.tip} is of this folder's repository, and {error}: "
                "write git:REPO@BASE..TIP"
            ) from None


def _repository(text: str) -> tuple[str, str]:
    """The repository, as a SPEC has it, and what stands behind it."""
    if not text.startswith(PREFIX):
        return ".", text
    folder, rest = split_repository(text.removeprefix(PREFIX), f"--series {text}")
    if not rest.startswith("@"):
        raise InputError(f"--series {text}: write git:REPO@BASE..TIP; {folder} is the repository")
    return folder, rest[1:]


def _digits(hashes: Sequence[str]) -> int:
    """The digits of an id that give each commit one of its own; git's usual number, or more."""
    digits = _DIGITS
    while len({one[:digits] for one in hashes}) < len(hashes):
        digits += 1
    return digits


def label(commit: str, subject: str) -> str:
    """``3fb2a91-let-the-loop``: a commit's short id and words of its subject behind the area, as
    many as there is room for, at least a part of the first."""
    plain = subject
    while area := re.match(r"[^\s:]+(,\s*[^\s:]+)*:\s+(?=\S)", plain):
        plain = plain[area.end() :]
    found = commit
    for at, word in enumerate(re.findall(r"[A-Za-z0-9_]+", plain)):
        if len(found) + 1 + len(word) > _LABEL:
            return found if at else f"{found}-{word}"[: max(_LABEL, len(found))]
        found += f"-{word}"
    return found


def as_in(
    sessions: Sequence[Session], kernels: Sequence[KernelArgument], series: Set[str]
) -> tuple[list[KernelArgument], frozenset[str]]:
    """``kernels`` and the labels of the ``series`` among them, but a commit keeps the label that it
    has in a session: once that was its number in the series, and its subject."""
    known = {
        (int(number[0]), commit): one.label
        for held in sessions
        for one, commit in _commits(held)
        if (number := re.match(r"[0-9]{1,3}(?=-|$)", one.label))
    }
    found, kept = [], set()
    for at, kernel in enumerate(kernels):
        if kernel.label in series:
            kernel = replace(kernel, label=known.get((at, _revision(kernel.spec)), kernel.label))
            kept.add(kernel.label)
        found.append(kernel)
    return found, frozenset(kept)


def _revision(spec: Spec) -> str | None:
    return spec.git.revision if isinstance(spec, FromGit) else None


def _commits(session: Session) -> Iterator[tuple[Kernel, str | None]]:
    """The kernels of a session with their commits, holes too."""
    for kernel in session.manifest.kernels:
        if kernel.source:
            yield kernel, kernel.source.commit
        elif kernel.hole:
            # Its repository may not be here.
            with contextlib.suppress(InputError):
                yield kernel, _revision(kinds.parse(kernel.spec))
