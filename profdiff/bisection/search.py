"""The search for the first bad commit: what suspects say first, then git bisect. And all steps of
a history, where values change by more than a threshold.

It knows nothing of kernels. What a commit is, ``test`` says. The history of steps is that of first
parents; one at a merge is followed into what was merged. Two changes that cancel each other out
within a stretch are not seen: its ends are alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profdiff.base.errors import InputError
from profdiff.bisection.git_bisect import Found, GitBisect, Mark, Next, Stuck

# A commit, and those that may be asked for next, the likely ones first.
Test = Callable[[str, Sequence[str]], Mark]

# So many suspects are tried before git chooses. Each that is none costs a step that git's choice
# would have halved the history with.
_SUSPECTS = 2
# Fewer steps are left to git: a suspect and its parent are two.
_WORTH = 2


class FixedError(InputError):
    """A common ancestor of good and bad is bad: what was to be found was never introduced between
    them, but mended on the side of good."""


def search(
    bisect: GitBisect,
    good: str,
    bad: str,
    test: Test,
    suspects: Sequence[str] = (),
    *,
    first_parent: bool = False,
) -> Found | Stuck:
    """The first bad commit between ``good`` and ``bad``, which is marked in git as it goes on.
    ``suspects``: commits that may be it, the likeliest first. What git has begun between the same
    ends goes on. Raises InputError, and whatever ``test`` raises."""
    if first_parent or not bisect.resume(good, bad):
        bisect.begin(good, bad, first_parent=first_parent)
    # Where good is not an ancestor of bad, git asks for what both come from first.
    for base in bisect.merge_bases(good, bad):
        if base in bisect.marked("good") | bisect.marked("skip"):
            continue
        mark = test(base, ())
        if mark == "bad":
            raise FixedError(
                f"{base[:12]}, from which good and bad both come, is bad too: the change was "
                f"undone on the way to good. To find where: --good {base[:12]} --bad {good[:12]}, "
                "in another folder (-o)"
            )
        bisect.mark(mark, base)
    tried = 0
    for suspect in suspects:
        if tried == _SUSPECTS or not isinstance(bisect.state(), Next) or bisect.steps() < _WORTH:
            break
        tried += _try(bisect, suspect, test)
    state = bisect.state()
    while isinstance(state, Next):
        commit = state.commit
        mark = test(commit, _ordered(commit, bisect.following(commit), bisect, suspects))
        state = bisect.mark(mark, commit)
    return state


def _try(bisect: GitBisect, suspect: str, test: Test) -> bool:
    """Test a suspect, and its parents if it is bad; whether anything was tested."""
    left, skipped = bisect.left(), bisect.marked("skip")
    if suspect not in left or suspect in skipped:
        return False
    parents = [one for one in bisect.parents(suspect) if one in left and one not in skipped]
    # The bad end is known to be bad.
    if suspect != left[0]:
        mark = test(suspect, [*parents, *bisect.following(suspect)])
        bisect.mark(mark, suspect)
        if mark != "bad":
            return True
    for parent in parents:
        # What one parent says may settle the other.
        if not isinstance(bisect.state(), Next) or parent not in bisect.left():
            continue
        bisect.mark(test(parent, bisect.following(parent)), parent)
    return True


def _ordered(
    commit: str, likely: Sequence[str], bisect: GitBisect, suspects: Sequence[str]
) -> list[str]:
    """What git asks for if ``commit`` is bad, and if it is good: first that of the half in which
    the first suspect lies."""
    if len(likely) < 2 or not suspects:
        return list(likely)
    left = set(bisect.left())
    suspect = next((one for one in suspects if one in left), None)
    if suspect is None or bisect.is_ancestor(suspect, commit):
        return list(likely)
    return list(likely)[::-1]


# The value of a commit, None where it has none; with those that may be asked for next.
Measure = Callable[[str, Sequence[str]], float | None]


@dataclass(frozen=True)
class Jump:
    """From ``parent`` to ``culprit``. ``candidates``: all that can be the culprit, where commits
    between them cannot be measured; ``culprit`` is the last of them then."""

    parent: str
    culprit: str
    before: float
    after: float
    candidates: Sequence[str] = ()

    @property
    def size(self) -> float:
        """Its sign says which way it goes."""
        return self.after - self.before


def jumps(bisect: GitBisect, good: str, bad: str, measure: Measure, threshold: float) -> list[Jump]:
    """The steps above ``threshold`` from ``good`` to ``bad``, in the order of the history. Raises
    InputError, and what ``measure`` raises."""
    start = _start(bisect, good, bad)
    ends = measure(start, [bad]), measure(bad, [])
    if ends[0] is None or ends[1] is None:
        untold = start if ends[0] is None else bad
        raise InputError(f"{untold[:12]} cannot be measured, from or to which --all goes")
    found = _between(bisect, (start, ends[0]), (bad, ends[1]), measure, threshold)
    return [inner for jump in found for inner in _into_merge(bisect, jump, measure, threshold)]


def besides(
    bisect: GitBisect,
    found: Sequence[Jump],
    culprit: str,
    step: float,
    threshold: float,
) -> list[Jump]:
    """The jumps but that of a culprit which is known already with its ``step``: neither its own,
    nor that of a merge, or of candidates, which brought no more than it."""
    others = []
    for one in found:
        inside = bisect.is_ancestor(culprit, one.culprit) and not bisect.is_ancestor(
            culprit, one.parent
        )
        if one.culprit != culprit and not (inside and abs(one.size - step) <= threshold):
            others.append(one)
    return others


def _start(bisect: GitBisect, good: str, bad: str) -> str:
    """``good``, or where the history of ``bad``'s first parents leaves what ``good`` has."""
    chain = bisect.rev_list("--first-parent", bad, f"^{good}")
    if not chain:
        return good
    return next(iter(bisect.parents(chain[-1])), good)


def _between(
    bisect: GitBisect,
    start: tuple[str, float],
    end: tuple[str, float],
    measure: Measure,
    threshold: float,
) -> list[Jump]:
    """Between two commits with their values, of which the first is on the other's first-parent
    history."""
    (good, before), (bad, after) = start, end
    if abs(after - before) <= threshold:
        return []

    def test(commit: str, likely: Sequence[str]) -> Mark:
        value = measure(commit, likely)
        if value is None:
            return "skip"
        return "bad" if abs(value - after) < abs(value - before) else "good"

    found = search(bisect, good, bad, test, first_parent=True)
    chain = [good, *reversed(bisect.rev_list("--first-parent", bad, f"^{good}"))]
    candidates = [found.commit] if isinstance(found, Found) else list(found.candidates)
    rows = sorted(chain.index(candidate) for candidate in candidates)
    left, right = chain[rows[0] - 1], chain[rows[-1]]
    values = measure(left, []), measure(right, [])
    if values[0] is None or values[1] is None:
        raise InputError(f"{left[:12]} and {right[:12]} cannot be measured again")
    several = [chain[row] for row in rows] if len(rows) > 1 else []
    jump = Jump(left, right, values[0], values[1], several)
    return [
        *_between(bisect, start, (left, values[0]), measure, threshold),
        *([jump] if abs(jump.size) > threshold else []),
        *_between(bisect, (right, values[1]), end, measure, threshold),
    ]


def _into_merge(bisect: GitBisect, jump: Jump, measure: Measure, threshold: float) -> list[Jump]:
    """The steps on the branches that a merge brought, if they are most of its own; else itself."""
    inner: list[Jump] = []
    for tip in bisect.parents(jump.culprit)[1:]:
        bases = bisect.merge_bases(jump.parent, tip)
        if not bases or tip in bases or _start(bisect, bases[0], tip) != bases[0]:
            continue
        values = measure(bases[0], [tip]), measure(tip, [])
        if values[0] is None or values[1] is None:
            continue
        found = _between(bisect, (bases[0], values[0]), (tip, values[1]), measure, threshold)
        inner += [one for each in found for one in _into_merge(bisect, each, measure, threshold)]
    explained = sum(one.size for one in inner)
    return inner if abs(explained - jump.size) <= abs(jump.size) / 2 else [jump]
