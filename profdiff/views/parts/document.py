"""The data of a report of several architectures, or compilers, ``profdiff.joint-report/2``:
what ``--json`` writes. ``profdiff/joint-report.schema.json`` is made of these records;
``docs/report-data.md`` explains it."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from profdiff.session.held import KindName
from profdiff.views.document import Document
from profdiff.views.parts.functions import JointFunctions
from profdiff.views.parts.results import JointChange, JointTable
from profdiff.views.record import Record, schema_of

SCHEMA: Final = "profdiff.joint-report/2"


class JointDocument(Record, frozen=True):
    """``kind``: what the parts differ by; ``names``: all parts that were asked for, in order.
    ``setting``: the one that sentences and functions are of, "" for the only one. ``commands``:
    what shows a part alone. ``missing``: by part, why it has nothing there; ``parts``: the reports
    of the others."""

    schema: Literal["profdiff.joint-report/2"]
    profdiff: str
    kind: KindName
    names: Annotated[list[str], Meta(min_length=1)]
    base: str
    setting: str
    sentences: list[str]
    changes: list[JointChange]
    tables: list[JointTable]
    functions: JointFunctions | None
    commands: dict[str, str]
    missing: dict[str, str]
    parts: dict[str, Document]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``joint-report.schema.json`` is a copy."""
    return schema_of(JointDocument, SCHEMA)
