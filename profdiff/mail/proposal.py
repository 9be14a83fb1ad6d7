"""Whom a mail may go to, as the tree of Linux has it: proposed, never added."""

import shlex
from collections.abc import Collection, Iterator

from profdiff.base.errors import InputError
from profdiff.base.terminal import printable
from profdiff.evidence.findings import Findings
from profdiff.mail import address as addresses
from profdiff.sources import maintainers
from profdiff.sources.maintainers import Contact
from profdiff.sources.repository import Repository
from profdiff.views.claims.answers import changed_files

_FILES = 5


def proposal(
    findings: Findings, kernel: str, repository: Repository | None, known: Collection[str]
) -> list[str]:
    """Lines for a terminal: who maintains the files whose functions changed most on ``kernel``, or
    those of the commit that a bisection found, with its author and signers. ``repository``: a tree
    of Linux, None where the user named none; ``known``: keys of addresses that the mail goes to.
    Addresses that are not well-formed are left out."""
    found = findings.manifest.bisection
    culprit = found.culprit.commit if found else ""
    files = _files(findings, kernel)
    if repository is None:
        command = shlex.join(maintainers.command(files))
        return [f"whom to ask: in a tree of Linux, {command}"] if files else []
    try:
        told = list(_contacts(repository, files, culprit))
    except InputError as error:
        return [f"whom to ask: not known: {error}"]
    new = {key: contact for contact in told if (key := _key(contact)) and key not in known}
    lines = [f"  {printable(one.address)}   ({printable(one.why)})" for one in new.values()]
    return ["whom to ask; --to and --cc add them:", *lines] if lines else []


def _files(findings: Findings, kernel: str) -> list[str]:
    for comparison in findings.comparisons:
        if kernel in comparison.labels:
            most = changed_files(comparison, comparison.labels.index(kernel)).most_common(_FILES)
            return [str(path) for path, _ in most]
    return []


def _contacts(repository: Repository, files: list[str], culprit: str) -> Iterator[Contact]:
    """Addresses change, so MAINTAINERS is that of the newest commit."""
    if culprit:
        yield from maintainers.of_commit(repository, culprit)
        files = maintainers.changed_by(repository, culprit)
    yield from maintainers.of_files(repository, "HEAD", files)


def _key(contact: Contact) -> str:
    try:
        return addresses.one(contact.address, "").key
    except InputError:
        return ""
