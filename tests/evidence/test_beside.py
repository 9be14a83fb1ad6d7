"""What ran outside the workload is told once in every form, and is no part of a count."""

import csv
import io
from collections.abc import Mapping

import pytest
from msgspec.structs import replace
from synthetic import compare, findings, frame
from synthetic_experiment import ICOUNT, recorded

from profdiff.evidence.outside_workload import beside
from profdiff.mail.measured import section
from profdiff.profile.comparison import Comparison
from profdiff.reports import documents
from profdiff.reports.csv import experiment
from profdiff.reports.text import session
from profdiff.session import manifest as m
from profdiff.session.points import cells, settings
from profdiff.topics.functions.selection import Selection

LINE = "excluded: interrupts and kernel threads outside the workload: "
Told = Mapping[str, list[int | None]]


def ran(told: Told, base: int = 10_000, new: int = 11_000) -> m.Manifest:
    """Runs that counted, with what ran beside each."""
    totals = {"base": base, "new": new}
    described = recorded(
        {label: [[[float(totals[label])] for _ in numbers]] for label, numbers in told.items()},
        collector="exact",
        is_total=True,
        name="instructions",
        unit="instructions",
        qemu=ICOUNT,
    )
    left = {label: list(numbers) for label, numbers in told.items()}
    runs = [
        m.replace(
            run,
            instructions=m.Instructions(
                kernel=totals[run.kernel],
                user=0,
                each_iteration=totals[run.kernel],
                beside=left[run.kernel].pop(0),
            ),
        )
        for run in described.runs
    ]
    return m.replace(described, runs=runs)


def profiled(told: Told) -> Comparison:
    """The same with functions."""
    manifest = ran(told)
    made = compare(
        {
            label: [([frame("work")], "work", True, [total] * len(told[label]))]
            for label, total in (("base", 10_000), ("new", 11_000))
        }
    )
    return replace(made, manifest=manifest, runs=manifest.runs)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"base": [3, 5, 9], "new": [700]}, {"base": 5, "new": 700}),
        ({"base": [0], "new": [0]}, {"base": 0, "new": 0}),
        ({"base": [3, None], "new": [0]}, None),
        ({"base": [None], "new": [None]}, None),
    ],
)
def test_how_many_ran_beside(told: Told, expected: dict[str, int] | None) -> None:
    manifest = ran(told)
    found = beside(cells(manifest), settings(manifest)[0], ["base", "new"], "exact")
    assert found == expected


def test_of_two_lengths_both_are_meant() -> None:
    manifest = ran({"base": [3], "new": [700]})
    points = [m.Point(cpus=1, ops=10), m.Point(cpus=1, ops=20, shorter=0)]
    more = [m.replace(run, id=f"{run.id}-long", point=1) for run in manifest.runs]
    manifest = m.replace(manifest, points=points, runs=[*manifest.runs, *more])
    (setting,) = settings(manifest)
    assert beside(cells(manifest), setting, ["base", "new"], "exact") == {"base": 6, "new": 1_400}


def test_every_form_tells_it_once() -> None:
    found = findings([profiled({"base": [54_037], "new": [110_507]})])
    told = "base 54,037, new 110,507 instructions"
    shown = session.render(found, Selection(), width=200)
    (row,) = [line for line in shown.splitlines() if line.endswith("outside the workload")]
    assert row.split("  ")[0].split() == ["54,037"]
    assert row.split()[1:3] == ["110,507", "+56,470"]
    assert shown.splitlines().index(row) == 1 + next(
        number for number, line in enumerate(shown.splitlines()) if line.endswith("  all")
    )
    assert "interrupts" not in session.render(found, Selection(side="user"), width=200)
    mail = " ".join(str(section(found, "new", None)).split())
    assert mail.count(told) == 1
    made = documents.session_document(found)
    assert made.metrics[0].beside == {"base": 54_037, "new": 110_507}
    assert made.metrics[0].totals == {"base": 10_000, "new": 11_000}
    assert [run.beside for run in made.runs] == [54_037, 110_507]
    assert sum(LINE in line for line in made.evidence) == 1
    rows = csv.DictReader(io.StringIO(experiment(found.results)))
    assert [(row["value"], row["beside"]) for row in rows] == [
        ("10000", "54037"),
        ("11000", "110507"),
    ]


def test_a_recording_that_does_not_tell_them_apart_says_so() -> None:
    found = findings([profiled({"base": [None], "new": [None]})])
    shown = " ".join(session.render(found, Selection(), width=200).split())
    assert "interrupts and kernel threads are included" in shown
    assert documents.session_document(found).metrics[0].beside is None
