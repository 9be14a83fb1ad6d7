"""Which commits added, changed and removed lines between two revisions, and which lines moved."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.sources import blobs
from profdiff.sources.history import History
from profdiff.sources.moves import moves
from profdiff.sources.origins import Origins
from profdiff.sources.removals import Removals
from profdiff.sources.same_lines import Fate, SameLines, SourceLine, same_lines

_PLAIN = ("--no-textconv", "--no-ext-diff", "--no-progress")


class Trace(msgspec.Struct, frozen=True):
    """``added``: of lines of the new revision, the commit that added or changed each.
    ``removed``: of lines of the base, the commit that removed or changed each. ``moved``: lines of
    the new revision with the line of the base that each is, elsewhere in the file or in another
    one. Lines in none of them are explained by no commit."""

    added: dict[SourceLine, str]
    removed: dict[SourceLine, str]
    moved: dict[SourceLine, SourceLine]


def trace(
    git: Git,
    base: str,
    new: str,
    added: Collection[SourceLine],
    removed: Collection[SourceLine],
    same: SameLines,
    ignored: Sequence[Path] = (),
) -> Trace:
    """Trace lines of ``new`` in ``added`` and of ``base`` in ``removed`` (full hashes); what
    ``same`` finds on the other side, or not at all, is left out. Where the base is on another
    branch, what that branch did since they parted counts too: a line that it added was removed by
    that commit, seen from the new revision. Raises InputError without a common history."""
    fork = _fork(git, base, new)
    # All that changed together: git takes a few words alone for no move.
    nows, olds = (
        {(file, line) for file, lines in hunks for line in lines}
        for hunks in (
            {(file, same.added(file, line)) for file, line in added},
            {(file, same.removed(file, line)) for file, line in removed},
        )
    )
    files = {file for file, _ in nows | olds}
    if not files:
        return Trace({}, {}, {})
    options = (*_PLAIN, *(f"--ignore-revs-file={file}" for file in ("", *ignored)))
    up, down = (
        _Way(git, History.read(git, fork, tip, files), options) if tip != fork else None
        for tip in (new, base)
    )
    from_new = _across(nows, up, down)
    from_base = _across(olds, down, up)
    moved, copied = _paired(git, base, new, same, from_new, from_base)
    from_new |= _across(copied, up, down, copies=False)
    added_by, removed_by = (
        {line: fate.commit for line, fate in fates.items() if fate.commit}
        for fates in (from_new, from_base)
    )
    texts = [
        {file: data.decode(errors="replace").split("\n") for file, data in content.items()}
        for content in (
            blobs.files(git, new, {file for file, _ in added_by}),
            blobs.files(git, base, {file for file, _ in removed_by}),
        )
    ]
    gone = set(moved.values())
    left = {line: commit for line, commit in removed_by.items() if line not in gone}
    moved |= moves(added_by, left, *texts)
    gone = set(moved.values())
    return Trace(
        {one: by for one, by in added_by.items() if one in added and one not in moved},
        {one: by for one, by in removed_by.items() if one in removed and one not in gone},
        {now: old for now, old in moved.items() if now in added or old in removed},
    )


class _Way:
    """The way between a revision and the commit where it parted from the other one."""

    def __init__(self, git: Git, history: History, options: Sequence[str]) -> None:
        self.origins = Origins(git, history, options)
        self.removals = Removals(git, history)


def _across(
    wanted: Iterable[SourceLine], back: _Way | None, onward: _Way | None, *, copies: bool = True
) -> dict[SourceLine, Fate]:
    """The fate of lines of one revision on the way to the other: back to where they parted, and
    onward from there."""
    fates = {line: Fate(line=line) for line in wanted}
    if back:
        fates = back.origins.of(fates) if copies else back.origins.unmoved(fates)
    if onward:
        there = onward.removals.of({fate.line for fate in fates.values() if fate.line})
        fates = {
            line: there.get(fate.line, Fate()) if fate.line else fate
            for line, fate in fates.items()
        }
    return fates


def _paired(
    git: Git,
    base: str,
    new: str,
    same: SameLines,
    from_new: dict[SourceLine, Fate],
    from_base: dict[SourceLine, Fate],
) -> tuple[dict[SourceLine, SourceLine], list[SourceLine]]:
    """Lines that moved, as line of new to line of base; and lines of new that are copies of what
    is still where it was."""
    pairs = [(now, fate.line) for now, fate in sorted(from_new.items()) if fate.line]
    back = [(fate.line, old) for old, fate in sorted(from_base.items()) if fate.line]
    files = {file for pair in pairs + back for file, _ in pair}
    unknown = {file for file in files if not same.has(file) and not same.base_has(file)}
    others = same_lines(git, base, new, unknown) if unknown else SameLines()
    moved: dict[SourceLine, SourceLine] = {}
    taken: set[SourceLine] = set()
    for now, old in pairs + back:
        free = now not in moved and old not in taken
        if free and not any(one.in_base(*now) or one.in_new(*old) for one in (same, others)):
            moved[now] = old
            taken.add(old)
    return moved, [now for now, _ in pairs if now not in moved]


def _fork(git: Git, base: str, new: str) -> str:
    output = git.succeeds("merge-base", base, new)
    fork = output.decode().strip() if output else ""
    shallow = git.shallow()
    if shallow:
        ends = git.run("rev-list", "--max-parents=0", new, base, *([f"^{fork}"] if fork else []))
        if not fork or not shallow.isdisjoint(ends.decode().split()):
            raise InputError(
                f"{git.shown} is a shallow clone without the whole history between "
                f"{base[:12]} and {new[:12]}: git -C {git.shown} fetch --unshallow"
            )
    if not fork:
        raise InputError(f"{git.shown}: {base[:12]} and {new[:12]} have no history in common")
    return fork
