"""Sessions of the schema ``profdiff.session/1``, as those of today's."""

from typing import Any

import msgspec

from profdiff.collectors.records import Part, Text, Value
from profdiff.session.manifest import Manifest, Run, Sampling, replace
from profdiff.session.schemas.second import SecondManifest, updated

FIRST_SCHEMA = "profdiff.session/1"
# What perf sampled unless it was told, which today is stored as not told.
_DEFAULT_EVENTS = ["cycles", "instructions"]


class _Sampling(Part, frozen=True):
    """How samples were to be taken."""

    events: list[Text]
    period: int | None = None
    frequency: int | None = None
    call_graph: Text = "fp"
    arguments: list[Text] = msgspec.field(default_factory=list)


class _Run(Run, frozen=True, kw_only=True):
    perf: Sampling | None = None


class _Manifest(SecondManifest, frozen=True, kw_only=True):
    call_tree: bool = True
    boot_runs_: int = msgspec.field(default=1, name="boot_runs")
    metrics: list[Text] = msgspec.field(default_factory=list)
    perf: _Sampling | None = None
    runs: list[_Run]  # type: ignore[assignment]


def decode(data: bytes) -> Manifest:
    """The manifest, from JSON of the first schema. What was read from command lines then is stated.

    Raises msgspec.DecodeError.
    """
    old = msgspec.json.decode(data, type=_Manifest)
    options: dict[str, Value] = {
        "call_tree": old.call_tree,
        "boot_runs": old.boot_runs_,
        "metrics": old.metrics,
    }
    if wanted := old.perf:
        options |= {
            "events": None if wanted.events == _DEFAULT_EVENTS else wanted.events,
            "count": wanted.period,
            "frequency": wanted.frequency,
            "call_graph": wanted.call_graph,
            "perf_args": wanted.arguments,
        }
    fields: dict[str, Any] = {name: getattr(old, name) for name in SecondManifest.__struct_fields__}
    runs = [_run(run) for run in old.runs]
    return updated(SecondManifest(**fields | {"options": options, "runs": runs}))


def _run(old: _Run) -> Run:
    fields: dict[str, Any] = {name: getattr(old, name) for name in Run.__struct_fields__}
    if qemu := old.qemu:
        name = qemu.arguments[0].rpartition("qemu-system-")[2] if qemu.arguments else ""
        fields["qemu"] = replace(
            qemu,
            accelerator="kvm" if "kvm" in qemu.arguments else "tcg",
            architecture=name if name.isidentifier() else None,
            virtual_clock="-icount" in qemu.arguments,
        )
    if old.perf:
        fields["sampling"] = old.perf
    return Run(**fields)
