"""The topics of ``profdiff report TOPIC``: what each shows instead of the whole report, in which
forms."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from profdiff.reports.form import Form, Subject, text
from profdiff.topics.registry import TOPICS as TABLES
from profdiff.topics.registry import Topic

if TYPE_CHECKING:
    from profdiff.evidence.one_setting import OneSetting
    from profdiff.profile.data.pairing import By
    from profdiff.shapes.table import Section

    OfSession = Subject[OneSetting]

_BOTH = "leave --kernel-only and --user-only out"


class TopicOptions(NamedTuple):
    """What only some topics take: ``by`` and ``fold_folios`` of types, ``at``, the point of the
    sweep that was asked for."""

    by: "By | None" = None
    fold_folios: bool = False
    at: str | None = None


class ReportTopic(NamedTuple):
    """``about``: what it shows; ``forms``: in which it can be written. ``sides``: those that it
    refuses, and ``why``."""

    about: str
    forms: Callable[[TopicOptions], Sequence[Form]]
    sides: tuple[str, ...] = ("kernel", "user")
    why: str = f"shows the kernel alone: {_BOTH}"


def _tables(topic: Topic, _: TopicOptions) -> Sequence[Form]:
    """The forms of a topic that has tables."""

    @cache
    def section(subject: "OfSession") -> "Section":
        found = topic.section(subject.find().findings)
        if not found.tables:
            from profdiff.base.errors import InputError

            raise InputError(f"{topic.name}: the session has none")
        return found

    def as_text(subject: "OfSession", target: str) -> str:
        from profdiff.forms.text import render

        return text(
            subject.asked,
            target,
            lambda asked, width: render(
                section(subject), width=width, per_op=asked.per_op, ratios=asked.ratios
            ),
        )

    def as_json(subject: "OfSession", target: str) -> bytes:
        from profdiff.forms import json
        from profdiff.views.document import topic_document

        return json.render(topic_document(section(subject)))

    def as_csv(subject: "OfSession", target: str) -> str:
        from profdiff.forms.csv import tables

        return tables(section(subject).tables)

    return (
        Form("text", f"Write {topic.name} as text.", {"session": as_text}, "[FILE]", lambda _: "-"),
        Form("json", f"Write {topic.name} as JSON.", {"session": as_json}),
        Form("csv", f"Write {topic.name} as CSV.", {"session": as_csv}),
    )


def _layout(_: TopicOptions) -> Sequence[Form]:
    from profdiff.reports.recorded_layout.forms import FORMS

    return FORMS


def _types(options: TopicOptions) -> Sequence[Form]:
    from profdiff.reports.types.forms import forms

    return forms(options.by or "field", fold_folios=options.fold_folios)


def _sharing(options: TopicOptions) -> Sequence[Form]:
    from profdiff.reports.sharing.forms import forms

    return forms(options.at)


_KERNEL = "shows the kernel alone: leave --user-only out"
TOPICS = {
    **{name: ReportTopic(topic.about, partial(_tables, topic)) for name, topic in TABLES.items()},
    "layout": ReportTopic(
        "where accessed data lies in cache lines, and what moved",
        _layout,
        ("user",),
        _KERNEL,
    ),
    "types": ReportTopic(
        "which fields and variables the kernel loads and stores", _types, ("user",), _KERNEL
    ),
    "sharing": ReportTopic(
        "which data lies in cache lines that change hands",
        _sharing,
        why=f"shows data of both sides: {_BOTH}",
    ),
}
