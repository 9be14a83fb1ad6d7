"""What a mail shows besides functions: kinds of instructions, data that kernels access, and lines
that change hands."""

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.sharing.measure import Lines
from profdiff.topics.types.measure import Accesses


def types(findings: Findings) -> Accesses:
    """Which data the kernels access. Raises InputError where that is not known."""
    try:
        return Accesses.of(findings)
    except InputError as error:
        raise InputError(f"--types: {error}") from error


def inventory(findings: Findings) -> Inventory:
    """Which kinds of instructions ran. Raises InputError where that is not known."""
    try:
        return Inventory(findings)
    except InputError as error:
        raise InputError(f"--inventory: {error}") from error


def sharing(findings: Findings, *, wanted: bool) -> Lines | None:
    """The lines that change hands, at the findings' setting if they were recorded there: if
    ``wanted``, or where nothing else was recorded. Raises InputError where somebody wants them and
    no run recorded them, SessionError."""
    from profdiff.profile.sharing.recorded import is_all

    if findings.session is None or not (wanted or is_all(findings.manifest)):
        return None
    try:
        return Lines.near(findings.session, findings.setting)
    except InputError as error:
        if wanted:
            raise InputError(f"--sharing: {error}") from error
        return None
