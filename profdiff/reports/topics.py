"""The topics of ``profdiff report TOPIC``: what each shows instead of the whole report, in which
forms."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from profdiff.reports.form import Form, ReportOptions, Subject, text
from profdiff.topics.registry import SHARING, TYPES, Topic
from profdiff.topics.registry import TOPICS as TABLES

if TYPE_CHECKING:
    from profdiff.evidence.findings import LazyFindings
    from profdiff.profile.data.cells import By
    from profdiff.shapes.table import Section

    OfSession = Subject[LazyFindings]

_BOTH = "leave --kernel-only and --user-only out"


class TopicOptions(NamedTuple):
    """What only some topics take: ``by`` and ``fold_folios`` of types, ``at``, the point of the
    sweep that was asked for."""

    by: "By | None" = None
    fold_folios: bool = False
    at: str | None = None


# The section of a subject; where ``absolute``, its sentences are of the whole window.
_Build = Callable[["OfSession", TopicOptions, bool], "Section"]


class ReportTopic(NamedTuple):
    """``about``: what it shows; ``section``: builds its tables, None where it has forms of its own.
    ``sides``: those that it refuses, and ``why``."""

    about: str
    section: _Build | None
    sides: tuple[str, ...] = ("kernel", "user")
    why: str = ""

    def forms(self, name: str, options: TopicOptions) -> Sequence[Form]:
        """The forms in which the topic of this name can be written."""
        return _layout() if self.section is None else _tables(name, self.section, options)


def _of_findings(topic: Topic) -> _Build:
    def build(subject: "OfSession", _: TopicOptions, absolute: bool) -> "Section":
        found = topic.section(subject.find().findings)
        if not found.tables:
            from profdiff.base.errors import InputError

            raise InputError(f"{topic.name}: the session has none")
        return found

    return build


def _accesses(subject: "OfSession", options: TopicOptions, absolute: bool) -> "Section":
    from profdiff.topics.types.measure import Accesses
    from profdiff.topics.types.shapes import of_accesses

    findings = subject.find().findings
    accesses = Accesses.of(findings, options.by or "field", fold_folios=options.fold_folios)
    return of_accesses(accesses, absolute=absolute)


def _lines(subject: "OfSession", options: TopicOptions, absolute: bool) -> "Section":
    """Nothing else of the session is read."""
    from profdiff.topics.sharing.measure import Lines
    from profdiff.topics.sharing.shapes import of_lines

    (session,) = subject.recording.sessions().values()
    return of_lines(Lines.of(session, options.at, absolute=absolute))


def _tables(name: str, build: _Build, options: TopicOptions) -> Sequence[Form]:
    """The forms of a topic that has tables."""

    @cache
    def section(subject: "OfSession", absolute: bool = False) -> "Section":
        return build(subject, options, absolute)

    def as_text(subject: "OfSession", target: str) -> str:
        from profdiff.forms.text import render
        from profdiff.shapes.selected import selected

        def rendered(asked: ReportOptions, width: int) -> str:
            rows = asked.selection
            found = section(subject, absolute=asked.per_op is False)
            shown = selected(found, rows.top, rows.min_delta)
            return render(shown, width=width, per_op=asked.per_op, ratios=asked.ratios)

        return text(subject.asked, target, rendered)

    def as_json(subject: "OfSession", target: str) -> bytes:
        from profdiff.forms import json
        from profdiff.views.document import topic_document

        return json.render(topic_document(section(subject)))

    def as_csv(subject: "OfSession", target: str) -> str:
        from profdiff.forms.csv import tables

        return tables(section(subject).tables)

    return (
        Form("text", f"Write {name} as text.", {"session": as_text}, "[FILE]", lambda _: "-"),
        Form("json", f"Write {name} as JSON.", {"session": as_json}),
        Form("csv", f"Write {name} as CSV.", {"session": as_csv}),
    )


def _layout() -> Sequence[Form]:
    from profdiff.reports.recorded_layout import FORMS

    return FORMS


_KERNEL = "shows the kernel alone: leave --user-only out"
TOPICS = {
    **{
        name: ReportTopic(topic.about, _of_findings(topic), why=f"shows {topic.sides}: {_BOTH}")
        for name, topic in TABLES.items()
    },
    "layout": ReportTopic(
        "where accessed data lies in cache lines, and what moved",
        None,
        ("user",),
        _KERNEL,
    ),
    "types": ReportTopic(
        TYPES.about,
        _accesses,
        ("user",),
        _KERNEL,
    ),
    "sharing": ReportTopic(
        SHARING.about,
        _lines,
        why=f"shows data of both sides: {_BOTH}",
    ),
}
