"""What ``profdiff check`` reads beside a recording: a file of known changes, and an atlas."""

import datetime
from pathlib import Path

import msgspec

from fuzz.structured import in_lines
from fuzz.target import Target
from profdiff.api.judged import read_history
from profdiff.checks.history import fence
from profdiff.checks.known import acknowledged, read_known
from profdiff.evidence.conditions.condition import Condition, Judgement, MeasuredChange
from profdiff.views.atlas import Atlas, AtlasCell, AtlasPoint, AtlasRelease, AtlasSeries, AtlasStep
from profdiff.views.atlas import AtlasValue as Value
from profdiff.views.kernels.facts import Variant

_KNOWN = b"""\
[[known]]
change = "instructions:kernel"
cell = "mprotect/*"
at = "size_kib=4, mode=a"
kernel = "new"
bounds = ["+1%", "+3.5%"]
reason = "accounting by folio"
until = 2027-01-31

[[known]]
change = "inlined:\\"a b\\""
reason = "moved"
"""


def _read_known(data: bytes, folder: Path) -> str:
    (folder / "known.toml").write_bytes(data)
    condition = Condition.parse("instructions:kernel > +2%")
    change = MeasuredChange("new", 100, 103, 0.03, 0.03, part="mprotect/anon", at="size_kib 4")
    entries = read_known(folder / "known.toml", [condition])
    judged = [Judgement(condition, change, "holds")]
    found, told = acknowledged(judged, entries, datetime.date(2026, 1, 1), {})
    return "\n".join([*told, found[0].change.note.encode("unicode_escape").decode()])


def _atlas() -> list[bytes]:
    value = Value(source=0, value=1, page="", reproduce="")
    step = AtlasStep(
        since=0,
        before=value,
        after=value,
        relative=0.01,
        delta=1,
        verdict="exact",
        states=1,
        low=None,
        high=None,
        relevant=False,
        functions=[],
        seat=None,
        events=[],
        items=[],
        commit=None,
        suspects=[],
        compilers=[],
        programs_differ=False,
    )
    points = [
        AtlasPoint(
            release=number,
            source=0,
            label="a",
            value=1,
            exact=True,
            missing=None,
            step=made,
            page="",
            reproduce="",
            others={},
        )
        for number, made in enumerate((None, step, step, step))
    ]
    cell = AtlasCell("mprotect", "mprotect", "", "call", [], True, "", points)
    release = AtlasRelease(
        "6.1",
        "6.1",
        "a",
        "ab",
        None,
        Variant("", None, None, None, "", []),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        sentence="",
    )
    machine = {"QEMU": "7.2", "metric": "instructions (instructions)"}
    series = AtlasSeries("", machine, "instructions", "", "lower", [0], [release] * 4, [cell])
    made = Atlas("profdiff.atlas/1", "0.1.0", "", 0.05, [], [], [series], [], [])
    return [msgspec.json.encode(made)]


def _read_atlas(data: bytes, folder: Path) -> None:
    (folder / "index.json").write_bytes(data)
    for series in read_history(folder).series:
        for changes in series.changes.values():
            if len(changes) > 1:
                fence([abs(change) for _, change in changes])


TARGETS = (
    Target(
        "known-changes",
        lambda: [_KNOWN],
        _read_known,
        cases=400,
        mutations=[in_lines],
        words=[b"[[known]]\n", b"=", b'"', b"*", b"[", b"%", b"history", b"2027-01-31", b"inf"],
    ),
    Target(
        "atlas-history",
        _atlas,
        _read_atlas,
        cases=400,
        words=[b"null", b"99", b"1e308", b"-", b"{}", b"[]", b'"'],
    ),
)
