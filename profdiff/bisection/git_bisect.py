"""``git bisect`` in a worktree of its own, whose state and log are git's.

The worktree has no files, and git checks nothing out there (``--no-checkout``): the user's
checkout, index and branches stay as they are.
"""

import contextlib
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.git import Git

Mark = Literal["good", "bad", "skip"]
_BAD = "refs/bisect/bad"
_COMMIT = "[0-9a-f]{40,64}"
_FOUND = re.compile(rf"# first bad commit: \[({_COMMIT})\]")
_CANDIDATE = re.compile(rf"# possible first bad commit: \[({_COMMIT})\]")
_MAX_LOG = 2**24
# Without these, git knows nothing of what was begun.
_FILES = ("BISECT_START", "BISECT_TERMS", "BISECT_LOG")


@dataclass(frozen=True)
class Next:
    """git asks for this commit."""

    commit: str


@dataclass(frozen=True)
class Found:
    """The first bad commit."""

    commit: str


@dataclass(frozen=True)
class Stuck:
    """The first bad commit is one of these, of which only the last can be tested, the bad end."""

    candidates: Sequence[str]


State = Next | Found | Stuck


@dataclass(frozen=True)
class GitBisect:
    """``git``: of the worktree."""

    git: Git

    @staticmethod
    def make(repository: Git, folder: Path, commit: str) -> "GitBisect":
        """The worktree ``folder`` of ``repository``: as it is, or made at ``commit``. Raises
        InputError."""
        if (folder / ".git").is_file():
            with contextlib.suppress(InputError):
                there = Git.open(folder)
                if _common(there) == _common(repository):
                    return GitBisect(there)
        if folder.exists():
            # What a killed git left half made is nobody's work: it never had files.
            if any(entry.name != ".git" for entry in folder.iterdir()):
                raise InputError(
                    f"{folder} is in the way: it is not a worktree of {repository.shown}"
                )
            shutil.rmtree(folder)
        # Twice: git locks a worktree while it makes it.
        options = ("--quiet", "--force", "--force", "--no-checkout", "--detach")
        repository.run("worktree", "add", *options, str(folder.absolute()), commit)
        return GitBisect(Git.open(folder))

    @staticmethod
    def begun(folder: Path) -> bool:
        """Whether anything is marked in the worktree ``folder``; True where nobody can tell."""
        if not (folder / ".git").is_file():
            return False
        try:
            return bool(GitBisect(Git.open(folder)).log())
        except InputError:
            return True

    def begin(self, good: str, bad: str, *, first_parent: bool = False) -> None:
        """Begin anew between two commits. Raises InputError."""
        self._mend_head(bad)
        self.git.succeeds("bisect", "reset")
        history = ["--first-parent"] if first_parent else []
        self._bisect([*history, bad, good], {_BAD: bad, f"refs/bisect/good-{good}": good})

    def begin_without(self, good: str, bad: str, forgotten: Collection[str]) -> None:
        """Begin anew, but what was skipped stays so unless it is one of ``forgotten``."""
        skipped = sorted(self.marked("skip") - set(forgotten))
        self.begin(good, bad)
        for commit in skipped:
            self.mark("skip", commit)

    def resume(self, good: str, bad: str) -> bool:
        """Go on with what was begun between two commits; False where nothing was, or nothing that
        can be gone on with."""
        if not all((self._state / name).exists() for name in _FILES):
            return False
        lines = self.log()
        started = [line for line in lines if line.startswith("git bisect start")]
        marks = {"good": good, "bad": bad}
        if len(started) != 1 or any(
            all(not re.match(rf"# {mark}: \[{commit}\]", line) for line in lines)
            for mark, commit in marks.items()
        ):
            return False
        if "--first-parent" in started[0]:
            return False
        refs = self._refs()
        if _BAD not in refs or f"refs/bisect/good-{good}" not in refs:
            return False
        # Killed between two of its files, git would ask for what is marked already.
        self._mend_head(bad)
        self.git.succeeds("bisect", "next")
        try:
            self.state()
        except InputError:
            return False
        return True

    def mark(self, mark: Mark, commit: str) -> State:
        """Tell git what ``commit`` is; what git says then. Raises InputError."""
        name = _BAD if mark == "bad" else f"refs/bisect/{mark}-{commit}"
        self._bisect([mark, commit], {name: commit})
        state = self.state()
        if state == Next(commit):
            raise InputError(
                f"{self.git.shown}: git bisect asks again for {commit}, which is {mark}"
            )
        return state

    def state(self) -> State:
        """What git wants to know, or has found. Raises InputError where it says neither."""
        lines = [line for line in self.log() if line]
        if lines and (match := _FOUND.match(lines[-1])):
            return Found(match[1])
        candidates: list[str] = []
        while lines and (candidate := _CANDIDATE.match(lines.pop())):
            candidates.append(candidate[1])
        if candidates:
            return Stuck(candidates)
        output = self.git.succeeds("rev-parse", "--verify", "--quiet", "BISECT_HEAD")
        if not output:
            raise InputError(f"{self.git.shown}: git bisect names no commit to test")
        return Next(output.decode().strip())

    def left(self) -> list[str]:
        """The commits that can still be the first bad one, the bad end among them."""
        return self.rev_list(*self._ends())

    def marked(self, mark: Mark) -> set[str]:
        """The commits that are marked so; of bad ones only the last."""
        return {commit for name, commit in self._refs().items() if f"/{mark}" in name}

    def following(self, commit: str) -> list[str]:
        """What git may ask for if ``commit`` turns out to be bad, and if it is good. Skips are not
        looked at: it is a guess."""
        bad, *good = self._ends()
        found = []
        for ends in ([commit, *good], [bad, *good, f"^{commit}"]):
            chosen = _half(self.git, *ends).get("bisect_rev")
            if chosen and chosen != ends[0]:
                found.append(chosen)
        return found

    def steps(self) -> int:
        """About how many commits git will ask for."""
        return estimated_steps(self.git, *self._ends())

    def log(self) -> list[str]:
        """The lines of git's log; none where nothing was begun."""
        try:
            data = bounded.read(self._state / "BISECT_LOG", _MAX_LOG)
        except FileNotFoundError:
            return []
        return data.decode(errors="replace").splitlines()

    def rev_list(self, *arguments: str) -> list[str]:
        """Commits as ``git rev-list`` names them."""
        return self.git.run("rev-list", *arguments, "--").decode().split()

    def parents(self, commit: str) -> list[str]:
        """In their order."""
        output = self.git.run("rev-list", "--no-walk", "--parents", commit, "--").decode().split()
        return output[1:]

    def merge_bases(self, one: str, other: str) -> list[str]:
        """The best common ancestors; none without a common history."""
        return (self.git.succeeds("merge-base", "--all", one, other) or b"").decode().split()

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether ``other`` has ``one`` in its history, or is it."""
        return self.git.succeeds("merge-base", "--is-ancestor", one, other) is not None

    @cached_property
    def _state(self) -> Path:
        """The folder that git keeps its state in."""
        output = self.git.run("rev-parse", "--absolute-git-dir")
        return Path(output.decode(errors="surrogateescape").rstrip("\n"))

    def _mend_head(self, bad: str) -> None:
        """Without BISECT_HEAD, git takes a bisection for one that checks files out, and would."""
        started = (self._state / "BISECT_START").exists()
        if started and not self.git.succeeds("rev-parse", "--verify", "--quiet", "BISECT_HEAD"):
            self.git.run("update-ref", "--no-deref", "BISECT_HEAD", bad)

    def _ends(self) -> list[str]:
        """The bad end, and the good ones as what is left out; of first-parent history if it was
        begun so."""
        refs = self._refs()
        if _BAD not in refs:
            raise InputError(f"{self.git.shown}: git bisect has no bad commit")
        good = [f"^{commit}" for name, commit in refs.items() if "/good-" in name]
        lines = self.log()
        first = any(
            line.startswith("git bisect start") and "first-parent" in line for line in lines
        )
        return [refs[_BAD], *good, *(["--first-parent"] if first else [])]

    def _refs(self) -> dict[str, str]:
        """What is marked, by git's names for it."""
        output = self.git.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/bisect")
        rows = (line.split() for line in output.decode().splitlines())
        return {row[0]: row[1] for row in rows if len(row) == 2}

    def _bisect(self, words: Sequence[str], expected: dict[str, str]) -> None:
        """git bisect with ``words``, after which the refs of ``expected`` are there. It fails where
        only skipped commits are left, too, and then has marked."""
        start = [] if words[0] in ("good", "bad", "skip") else ["start", "--no-checkout"]
        command = ["bisect", *start, *words]
        if self.git.succeeds(*command) is None and not expected.items() <= self._refs().items():
            self.git.run(*command)
            raise InputError(f"{self.git.shown}: git bisect did not take {' '.join(words)}")


def estimated_steps(git: Git, *ends: str) -> int:
    """About how many commits git bisect will ask for between ``ends``, which are as rev-list has
    them."""
    told = _half(git, *ends)
    # git counts what is left after the next one.
    return int(told["bisect_steps"]) + 1 if int(told.get("bisect_all", 0)) > 1 else 0


def _half(git: Git, *ends: str) -> dict[str, str]:
    """What git says of the commit that halves a history best."""
    # Not --bisect, which takes the commits that are marked as well.
    # It fails where nothing is left.
    said = (git.succeeds("rev-list", "--bisect-vars", *ends, "--") or b"").decode()
    return dict(re.findall(r"^(bisect_\w+)='?([0-9a-f]+)'?$", said, re.MULTILINE))


def _common(git: Git) -> Path:
    output = git.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(output.decode(errors="surrogateescape").rstrip("\n")).resolve()
