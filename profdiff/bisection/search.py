"""The search for the first bad commit: what suspects say first, then git bisect.

It knows nothing of kernels. What a commit is, ``test`` says.
"""

from collections.abc import Callable, Sequence

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
