"""Which revision of a repository a kernel's release was built from."""

import re

from profdiff.base.errors import InputError
from profdiff.sources.repository import Repository

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
        raise InputError(f"no release can be told from {release!r}: {_SAY}")
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
