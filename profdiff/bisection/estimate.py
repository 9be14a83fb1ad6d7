"""How many revisions a bisection will ask for, and how long that takes, before it begins."""

from dataclasses import replace

from profdiff.base import units
from profdiff.bisection.git_bisect import Found, GitBisect, estimated_steps
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import seconds_of_builds
from profdiff.collectors.kernels.git_spec import GitSpec

# A boot with a short workload, where nothing was recorded yet.
_RUN = (5.0, 20.0)
# Good and bad; the culprit's parent, itself, bad and the revert once more, of which one is built.
_MORE_BUILDS, _MORE_RUNS = 3, 6


def told(
    bisect: GitBisect,
    good: str,
    bad: str,
    plain: GitSpec,
    names: tuple[str, str],
    *,
    every: bool = False,
) -> str:
    """In one line; ``names``: good and bad as the user wrote them; ``every``: whether more than one
    step is looked for. What was begun is counted from where it is. Raises InputError, MissingError
    for what cannot be built."""
    count = int(bisect.git.run("rev-list", "--count", bad, f"^{good}", "--"))
    revisions = f"{units.counted(count, 'revision')} from {names[0]} to {names[1]}"
    if bisect.resume(good, bad):
        if isinstance(bisect.state(), Found):
            return f"{revisions}: the first bad commit is found already"
        left, steps = len(bisect.left()), bisect.steps()
        revisions = f"{left:,} left of {revisions}"
    else:
        steps = estimated_steps(bisect.git, bad, f"^{good}")
    least = "at least" if every else "about"
    about = f"{revisions}: {least} {units.counted(steps, 'step')}"
    job = BuildJob.of(replace(plain, revision=bad))
    first, further = seconds_of_builds(job.source.repository, job.objects)
    if not first and not further:
        return f"{about}; no such kernel was built yet, so the time is not known"
    if not further:
        each = units.span(min(first), max(first))
        return f"{about}; the first build takes {each}, those that go on from it less"
    builds, runs = steps + _MORE_BUILDS, steps + _MORE_RUNS
    low = builds * min(further) + runs * _RUN[0]
    high = builds * max(further) + runs * _RUN[1]
    each = units.span(min(further), max(further))
    whole = "at least " if every else ""
    return f"{about}; a build takes {each}, all {whole}{units.span(low, high)}"
