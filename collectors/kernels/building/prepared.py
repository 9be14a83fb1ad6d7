"""The source that is to be built, as a commit: a revision, or one made of it with patches, without
commits, or with what a work tree has that nobody committed.

Nothing is checked out, and neither the user's index nor a branch changes: commits are made with an
index of their own (git-read-tree(1), git-apply(1) ``--cached``, git-commit-tree(1)).
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.bounded import read
from profdiff.base.errors import InputError, told
from profdiff.base.git import Git
from profdiff.base.names import did_you_mean
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import printable
from profdiff.collectors.kernels.building.make import DoesNotApply
from profdiff.collectors.kernels.git_spec import Change, GitSpec

_MAX_BYTES = 64 << 20
_SUBJECT = 1000
# An index in one file, no parts of it in the user's git folder.
_WHOLE_INDEX = "core.splitIndex=false"
_MAIL_STARTS = re.compile(rb"^From ", re.MULTILINE)
# A series of Linux has some hundred at most.
_MOST_MAILS = 1000
_US = ("profdiff", "profdiff@localhost")
_MAIL = re.compile(rb"\A(?:From |(?:[\w-]+:.*\n(?:[ \t].*\n)*)*(?:From|Subject):)")
_DIFF = re.compile(rb"^(?:diff --git |--- )", re.MULTILINE)


@dataclass(frozen=True)
class Prepared:
    """``commit``, ``described`` and ``subject`` are the revision's, ``built`` and ``tree`` those of
    what is built (``BuiltFrom``). ``left_out``: folders in a work tree that are repositories of
    their own."""

    git: Git
    commit: str
    described: str
    subject: str
    built: str
    tree: str
    dirty: bool
    patches: tuple[str, ...]
    reverted: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Patch:
    """``diff`` may be of a mail, which says ``subject``, ``author`` (name, address), ``date``."""

    subject: str
    diff: bytes
    author: tuple[str, str] = _US
    date: str = ""


def prepare(spec: GitSpec) -> Prepared:
    """The source that ``spec`` means. Raises InputError where the repository has no such revision,
    DoesNotApply for its changes."""
    git = Git.open(spec.repository)
    if spec.revision is None and git.bare:
        raise InputError(f"{git.shown} has no work tree: name a revision, git:{git.shown}@REV")
    commit = find_commit(git, spec.revision or "HEAD")
    subject = git.run("log", "-1", "--format=%s", "--no-show-signature", commit, "--")
    described = git.run("describe", "--tags", "--always", "--abbrev=12", commit)
    patches: list[str] = []
    reverted: list[str] = []
    with temporary_folder() as folder:
        own = (
            git.without_drivers()
            .configured(_WHOLE_INDEX)
            .given(GIT_INDEX_FILE=str(folder / "index"))
        )
        work = _Work(own, folder, commit)
        if spec.revision is None:
            work.take_work_tree()
        dirty = work.head != commit
        for change in spec.changes:
            if change.kind == "revert":
                reverted.append(work.revert(change.what))
            else:
                patches += work.patch(change, spec)
        tree = work.tree
    return Prepared(
        git,
        commit,
        _line(described),
        _line(subject),
        work.head,
        tree,
        dirty,
        tuple(patches),
        tuple(reverted),
        work.left_out,
    )


def find_commit(git: Git, revision: str) -> str:
    """The full hash of the commit that ``revision`` names. Raises InputError."""
    said = None
    if revision and not revision.startswith("-") and revision.isprintable():
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        said = git.succeeds(*words)
    if said:
        return said.decode().strip()
    if revision == "HEAD":
        raise InputError(f"{git.shown} has no commit yet: commit what is to be built")
    tags = git.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/tags", "refs/heads")
    near = did_you_mean(revision, tags.decode(errors="replace").split())
    instead = near or f"git -C {git.shown} fetch --tags may bring it"
    raise InputError(f"{git.shown} has no revision {revision!r}: {instead}")


class _Work:
    """A commit that changes are put on, one by one. ``head`` and ``tree`` are the last one's."""

    def __init__(self, git: Git, folder: Path, commit: str) -> None:
        self._git, self._folder = git, folder
        self.head = commit
        self.tree = self._tree_of(commit)
        # Commits get the date of their revision, so that the same changes give the same commit.
        self._date = _line(git.run("log", "-1", "--format=%ct", commit, "--")) + " +0000"
        self._read = False
        self.left_out: tuple[str, ...] = ()

    def take_work_tree(self) -> None:
        """Add what is in the work tree, also files that git does not ignore and nobody added."""
        index = Path(_line(self._git.run("rev-parse", "--absolute-git-dir"))) / "index"
        if index.is_file():
            # It knows which files did not change since they were last looked at; its own time tells
            # which may have changed since, at the same time (racy-git in git's documentation).
            shutil.copy2(index, self._folder / "index")
            self._look_at_all()
        self._add_changed()
        self._add_others()
        self._read = True
        self._commit(f"The work tree of {self._git.top}", _Patch("", b""))

    def _look_at_all(self) -> None:
        """Take back that git is to take files as unchanged (git-update-index(1)), where they are
        there."""
        unseen: dict[str, list[bytes]] = {"--no-assume-unchanged": [], "--no-skip-worktree": []}
        for row in self._git.run("ls-files", "-v", "-z").split(b"\0")[:-1]:
            tag, path = row[:1], row[2:]
            if tag.islower():
                unseen["--no-assume-unchanged"].append(path)
            if tag in b"Ss" and os.path.lexists(self._git.top / os.fsdecode(path)):
                unseen["--no-skip-worktree"].append(path)
        for option, paths in unseen.items():
            if paths:
                words = ("update-index", option, "-z", "--stdin")
                self._git.run(*words, stdin=b"\0".join([*paths, b""]))

    def _add_changed(self) -> None:
        """Add what changed of the files that git knows. ``git add --update`` would start another
        git in each submodule, which runs what that one's configuration names."""
        look = ("diff-files", "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
        if changed := self._git.run(*look):
            words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
            self._git.run(*words, stdin=changed)

    def _add_others(self) -> None:
        """Add the files that nobody added and git does not ignore, but no repositories: of them,
        git would add the name of a commit alone, or nothing if they have none."""
        others = self._git.run("ls-files", "--others", "--exclude-standard", "-z").split(b"\0")[:-1]
        files = [path for path in others if not path.endswith(b"/")]
        if files:
            words = ("update-index", "--add", "--replace", "-z", "--stdin")
            self._git.run(*words, stdin=b"\0".join([*files, b""]))
        inner = (path for path in others if path.endswith(b"/"))
        self.left_out = tuple(printable(os.fsdecode(path[:-1])) for path in inner)

    def patch(self, change: Change, spec: GitSpec) -> list[str]:
        """Apply the patches in a file or folder; returns what to call each."""
        path = Path(change.what).expanduser()
        names = []
        files = sorted(path.glob("*.patch")) if path.is_dir() else [path]
        if len(files) > _MOST_MAILS:
            raise InputError(
                f"{path} holds {len(files):,} patches, more than {_MOST_MAILS:,}: name those that "
                "are meant"
            )
        for file in files:
            for one in self._patches(file):
                where = f"{file} ({one.subject})" if one.subject else str(file)
                self._apply(one.diff, f"{where} does not apply to {spec.revision or 'the tree'}")
                before = self.head
                try:
                    self._commit(one.subject or file.name, one)
                except InputError as error:
                    raise InputError(
                        f"{where} makes no commit ({_reason(error)}): correct its From: and Date:"
                    ) from error
                if self.head == before:
                    raise DoesNotApply(
                        f"{where} changes nothing: {spec.revision or 'the tree'} has it already"
                    )
                names.append(": ".join(filter(None, (file.name, one.subject))))
        if not names:
            raise InputError(f"{path} contains no patch")
        return names

    def revert(self, revision: str) -> str:
        """Undo a commit, of a merge what it brought; returns its hash."""
        commit = find_commit(self._git, revision)
        subject = _line(self._git.run("log", "-1", "--format=%s", commit, "--"))
        if self._git.succeeds("rev-parse", "--verify", "--quiet", f"{commit}^") is None:
            raise DoesNotApply(f"{revision} cannot be reverted: it has no parent here")
        said = f"{commit[:12]} ({subject[:_SUBJECT]}) does not revert"
        words = ("diff-tree", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv")
        self._apply(self._git.run(*words, commit, f"{commit}^"), said)
        before = self.head
        self._commit(f'Revert "{subject}"', _Patch("", b""))
        if self.head == before:
            raise DoesNotApply(f"{said}: what it changes is not there any more")
        return commit

    def _apply(self, diff: bytes, failure: str) -> None:
        if not self._read:
            self._git.run("read-tree", self.head)
            self._read = True
        try:
            self._git.run("apply", "--cached", "--3way", "--whitespace=nowarn", "-", stdin=diff)
        except InputError as error:
            unmerged = self._git.run("ls-files", "--unmerged", "-z").decode(errors="replace")
            files = dict.fromkeys(row.partition("\t")[2] for row in unmerged.split("\0")[:-1])
            why = f"conflicts in {', '.join(files)}" if files else _reason(error)
            raise DoesNotApply(f"{failure}: {printable(why)[:300]}") from error

    def _commit(self, message: str, patch: _Patch) -> None:
        """Make a commit of the index, if it differs from the last."""
        tree = _line(self._git.run("write-tree"))
        if tree == self.tree:
            return
        name, address = patch.author
        who = {
            "GIT_AUTHOR_NAME": name or _US[0],
            "GIT_AUTHOR_EMAIL": address or _US[1],
            "GIT_AUTHOR_DATE": patch.date or self._date,
            "GIT_COMMITTER_NAME": _US[0],
            "GIT_COMMITTER_EMAIL": _US[1],
            "GIT_COMMITTER_DATE": self._date,
        }
        words = ("commit-tree", tree, "-p", self.head)
        said = self._git.given(**who).run(*words, stdin=message.encode(errors="replace"))
        self.head, self.tree = _line(said), tree

    def _patches(self, file: Path) -> Iterator[_Patch]:
        """The patches in ``file``: a diff, a mail, or mails of which some have none (a cover)."""
        try:
            content = read(file, _MAX_BYTES)
        except OSError as error:
            raise InputError(f"no such patch: {told(error)}") from error
        if not _MAIL.match(content):
            if not _DIFF.search(content):
                raise InputError(f"{file} contains no patch")
            yield _Patch("", content)
            return
        # As git mailsplit finds them.
        if (count := len(_MAIL_STARTS.findall(content))) > _MOST_MAILS:
            raise InputError(
                f"{file} holds {count:,} mails, more than {_MOST_MAILS:,}: name a file of its own "
                "for the patches that are meant"
            )
        mails = self._folder / "mails"
        shutil.rmtree(mails, ignore_errors=True)
        mails.mkdir()
        self._git.run("mailsplit", "-b", f"-o{mails}", stdin=content)
        for mail in sorted(mails.iterdir()):
            message, diff = self._folder / "message", self._folder / "diff"
            words = ("mailinfo", "--encoding=UTF-8", str(message), str(diff))
            output = self._git.run(*words, stdin=mail.read_bytes()).decode(errors="replace")
            known = dict(re.findall(r"^(Author|Email|Subject|Date): (.*)$", output, re.MULTILINE))
            if _DIFF.search(content := diff.read_bytes()):
                author = known.get("Author", ""), known.get("Email", "")
                subject = known.get("Subject", "")[:_SUBJECT]
                yield _Patch(subject, content, author, known.get("Date", ""))

    def _tree_of(self, commit: str) -> str:
        return _line(self._git.run("rev-parse", "--verify", f"{commit}^{{tree}}"))


def _reason(error: InputError) -> str:
    """What git says of a patch, without what profdiff says around it."""
    return re.split(r"git [\w-]+ fails: ", str(error))[-1]


def _line(said: bytes) -> str:
    return said.decode(errors="replace").strip()[:_SUBJECT]
