"""Which commits added, changed and removed lines between two revisions, and which lines moved."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.sources import blobs
from profdiff.sources.fate import Fate
from profdiff.sources.git import Git
from profdiff.sources.history import History
from profdiff.sources.moves import moves
from profdiff.sources.origins import Origins
from profdiff.sources.removals import Removals
from profdiff.sources.same_lines import Place, SameLines, same_lines

_PLAIN = ("--no-textconv", "--no-ext-diff", "--no-progress")


@dataclass(frozen=True)
class Trace:
    """``added``: of places of the new revision, the commit that added or changed the line.
    ``removed``: of places of the base, the commit that removed or changed it. ``moved``: places of
    the new revision with the place of the base that they are, elsewhere in the file or in another
    one. Places in none of them are explained by no commit."""

    added: dict[Place, str]
    removed: dict[Place, str]
    moved: dict[Place, Place]


def trace(
    git: Git,
    base: str,
    new: str,
    added: Collection[Place],
    removed: Collection[Place],
    same: SameLines,
    ignored: Sequence[Path] = (),
) -> Trace:
    """Trace places of ``new`` in ``added`` and of ``base`` in ``removed`` (full hashes); what
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
        {place: fate.commit for place, fate in fates.items() if fate.commit}
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
    left = {place: commit for place, commit in removed_by.items() if place not in gone}
    moved |= moves(added_by, left, *texts)
    gone = set(moved.values())
    return Trace(
        {p: commit for p, commit in added_by.items() if p in added and p not in moved},
        {p: commit for p, commit in removed_by.items() if p in removed and p not in gone},
        {now: old for now, old in moved.items() if now in added or old in removed},
    )


class _Way:
    """The way between a revision and the commit where it parted from the other one."""

    def __init__(self, git: Git, history: History, options: Sequence[str]) -> None:
        self.origins = Origins(git, history, options)
        self.removals = Removals(git, history)


def _across(
    places: Iterable[Place], back: _Way | None, onward: _Way | None, *, copies: bool = True
) -> dict[Place, Fate]:
    """The fate of lines of one revision on the way to the other: back to where they parted, and
    onward from there."""
    fates = {place: Fate(place=place) for place in places}
    if back:
        fates = back.origins.of(fates) if copies else back.origins.unmoved(fates)
    if onward:
        there = onward.removals.of({fate.place for fate in fates.values() if fate.place})
        fates = {
            place: there.get(fate.place, Fate()) if fate.place else fate
            for place, fate in fates.items()
        }
    return fates


def _paired(
    git: Git,
    base: str,
    new: str,
    same: SameLines,
    from_new: dict[Place, Fate],
    from_base: dict[Place, Fate],
) -> tuple[dict[Place, Place], list[Place]]:
    """Lines that moved, as place of new to place of base; and lines of new that are copies of what
    is still at its place."""
    pairs = [(now, fate.place) for now, fate in sorted(from_new.items()) if fate.place]
    back = [(fate.place, old) for old, fate in sorted(from_base.items()) if fate.place]
    files = {file for pair in pairs + back for file, _ in pair}
    unknown = {file for file in files if not same.has(file) and not same.base_has(file)}
    others = same_lines(git, base, new, unknown) if unknown else SameLines()
    moved: dict[Place, Place] = {}
    taken: set[Place] = set()
    for now, old in pairs + back:
        free = now not in moved and old not in taken
        if free and not any(one.in_base(*now) or one.in_new(*old) for one in (same, others)):
            moved[now] = old
            taken.add(old)
    return moved, [now for now, _ in pairs if now not in moved]


def _fork(git: Git, base: str, new: str) -> str:
    said = git.succeeds("merge-base", base, new)
    fork = said.decode().strip() if said else ""
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
