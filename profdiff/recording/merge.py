"""``profdiff merge``: shards of a session, of parts, or of a suite."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from profdiff.base.errors import InputError
from profdiff.recording.merged import merge_sessions
from profdiff.session import opened
from profdiff.session.held import held, inside, is_session
from profdiff.session.lock import recording
from profdiff.session.opened import Opened
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.session.suite import Choice, Suite


def merge(target: Path, shards: Sequence[Path]) -> list[Session]:
    """Make ``target`` of shards, or add them to it; the sessions that it has now. When it ends
    half-way, the same command goes on.

    Raises what ``merge_sessions`` does, and InputError for recordings that are not of one kind, or
    suites with different workloads.
    """
    found = [opened.open(shard) for shard in shards]
    before = opened.open(target) if held(target) else None
    first = found[0]
    for one in [*found, *([before] if before else [])]:
        if one.held != first.held:
            raise InputError(
                f"{one.folder} is {one.title}, and {first.folder} is {first.title}: merge like ones"
            )
    if held(target) and any(shard.samefile(target) for shard in shards):
        raise InputError(f"{target} is the target and a shard: name another folder first")
    if suites := [one for one in found if isinstance(one, Suite)]:
        return _merge_suites(target, suites, before)
    if parts := [one for one in found if isinstance(one, Parts)]:
        return _merge_parts(target, parts, before)
    return [merge_sessions(target, [one for one in found if isinstance(one, Session)])]


def _merge_parts(target: Path, shards: Sequence[Parts], before: Opened | None) -> list[Session]:
    every = [*([before] if isinstance(before, Parts) else []), *shards]
    first = every[0]
    if len({one.kind for one in every}) > 1:
        raise InputError(f"{shards[0].folder} and others have parts of different kinds")
    names = list(dict.fromkeys(name for one in every for name in one.names))
    with recording(target):
        if before:
            made = first.with_parts(names)
        else:
            made = Parts.create(target, names, first.command, first.kind)
        found = []
        for name in names:
            parts = [inside(shard.folder, name) for shard in shards]
            if begun := [Session.open(part) for part in parts if is_session(part)]:
                found.append(merge_sessions(made.part(name), begun))
    return found


def _merge_suites(target: Path, shards: Sequence[Suite], before: Opened | None) -> list[Session]:
    first = before if isinstance(before, Suite) else shards[0]
    for other in shards:
        _refuse_other_workloads(first, other)
    with recording(target):
        if before:
            made = first.with_workloads([], choices=_choices(shards))
        else:
            choices = _choices(shards)
            made = Suite.create(target, first.name, first.command, first.workloads, choices)
        found: list[Session] = []
        for workload in first.workloads:
            parts = [shard.part(workload.name) for shard in shards]
            if begun := [part for part in parts if held(part)]:
                found += merge(made.part(workload.name), begun)
    return found


def _choices(shards: Sequence[Suite]) -> list[Choice]:
    """What the shards together were asked for, as one process would have been."""
    every = [
        msgspec.structs.replace(choice, shard="") for shard in shards for choice in shard.choices
    ]
    return [choice for number, choice in enumerate(every) if choice not in every[:number]]


def _refuse_other_workloads(first: Suite, other: Suite) -> None:
    mine, others = ([workload.name for workload in suite.workloads] for suite in (first, other))
    if odd := [name for name in [*mine, *others] if (name in mine) != (name in others)]:
        has = other if odd[0] in others else first
        raise InputError(
            f"{other.folder} is not a shard of {first.folder}: only {has.folder} has the workload "
            f"{odd[0]}"
        )
