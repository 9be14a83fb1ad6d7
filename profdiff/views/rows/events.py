"""Events as rows: how often each happened on each kernel."""

from collections.abc import Iterator
from typing import Any

from profdiff.evidence.findings import Findings
from profdiff.topics.registry import TOPICS
from profdiff.views.record import Record


class EventCountRow(Record, frozen=True):
    """A row of the tables of ``profdiff report events`` on one kernel. ``context``: the workload's
    own, or outside of it. ``delta`` to the base, with its ends ``low`` and ``high``, is None of the
    base itself, and where it is not known. ``functions``: those whose entries are counted, with
    blanks between them, None where the kernel has none of them."""

    kernel: str
    event: str
    about: str
    meaning: str
    context: str
    count: int | None
    delta: int | None
    low: int | None
    high: int | None
    verdict: str | None
    states: int | None
    functions: str | None


def event_rows(findings: Findings) -> Iterator[EventCountRow]:
    """All events, of each all kernels, the base first. Raises InputError where nothing is known."""
    for table in TOPICS["events"].section(findings).tables:
        for row in table.by_row_and_kernel():
            cells: dict[str, Any] = {name: row[name] for name in EventCountRow.__struct_fields__}
            functions = cells.pop("functions")
            joined = None if functions is None else " ".join(functions)
            yield EventCountRow(**cells, functions=joined)
