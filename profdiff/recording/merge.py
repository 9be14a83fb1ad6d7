"""``profdiff merge``: shards of a session, of several, or of a suite."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from profdiff.base.errors import InputError
from profdiff.recording.merged import merge_sessions
from profdiff.session.folder import Session, inside, is_session, is_several, is_suite, recording
from profdiff.session.several import Several
from profdiff.session.suite import Choice, Suite

# What a folder can be, in words.
_SUITE, _SEVERAL, _SESSION = "a suite", "a folder of several sessions", "a session"


def merge(target: Path, shards: Sequence[Path]) -> list[Session]:
    """Make ``target`` of shards, or add them to it; the sessions that it has now. When it ends
    half-way, the same command goes on.

    Raises as ``merge_sessions``, and InputError for folders that are not of one kind, or of suites
    with different workloads.
    """
    kinds = {shard: _kind(shard) for shard in shards}
    first = shards[0]
    before = _is(target)
    for folder, kind in [*kinds.items(), *([(target, before)] if before else [])]:
        if kind != kinds[first]:
            raise InputError(f"{folder} is {kind}, and {first} is {kinds[first]}: merge like ones")
    if any(shard.resolve() == target.resolve() for shard in shards):
        raise InputError(f"{target} is the target and a shard: name another folder first")
    if kinds[first] == _SUITE:
        return _merge_suites(target, [Suite.open(shard) for shard in shards])
    return _merge_any(target, shards)


def _is(folder: Path) -> str | None:
    if is_session(folder):
        return _SESSION
    if is_suite(folder):
        return _SUITE
    return _SEVERAL if is_several(folder) else None


def _kind(shard: Path) -> str:
    """Raises SessionError where there is nothing."""
    if found := _is(shard):
        return found
    Session.open(shard)
    return _SESSION


def _merge_any(target: Path, shards: Sequence[Path]) -> list[Session]:
    """Of sessions, or of folders of several."""
    if not any(is_several(shard) for shard in shards):
        return [merge_sessions(target, [Session.open(shard) for shard in shards])]
    if not all(is_several(shard) for shard in shards):
        raise InputError(f"of {target} some shards have one session, and others several")
    every = [Several.open(shard) for shard in shards]
    if is_several(target):
        every.insert(0, Several.open(target))
    if len({one.kind for one in every}) > 1:
        raise InputError(f"{shards[0]} and others have parts of different kinds")
    names = list(dict.fromkeys(name for one in every for name in one.names))
    with recording(target):
        if is_several(target):
            made = Several.open(target).with_parts(names)
        else:
            made = Several.create(target, names, every[0].command, every[0].kind)
        found = []
        for name in names:
            parts = [inside(shard, name) for shard in shards]
            if held := [part for part in parts if is_session(part)]:
                found.append(merge_sessions(made.part(name), [Session.open(one) for one in held]))
    return found


def _merge_suites(target: Path, shards: Sequence[Suite]) -> list[Session]:
    first = Suite.open(target) if is_suite(target) else shards[0]
    for other in shards:
        _refuse_other_workloads(first, other)
    with recording(target):
        if is_suite(target):
            made = first.with_workloads([], choices=_choices(shards))
        else:
            choices = _choices(shards)
            made = Suite.create(target, first.name, first.command, first.workloads, choices)
        found: list[Session] = []
        for workload in first.workloads:
            parts = [shard.part(workload.name) for shard in shards]
            held = [part for part in parts if is_session(part) or is_several(part)]
            if held:
                found += _merge_any(made.part(workload.name), held)
    return found


def _choices(shards: Sequence[Suite]) -> list[Choice]:
    """What the shards together were asked for, as one process would have been; none where that is
    not known of one of them."""
    if not all(shard.choices for shard in shards):
        return []
    every = [msgspec.structs.replace(one, shard="") for shard in shards for one in shard.choices]
    return [one for number, one in enumerate(every) if one not in every[:number]]


def _refuse_other_workloads(first: Suite, other: Suite) -> None:
    mine, others = ([one.name for one in suite.workloads] for suite in (first, other))
    if odd := [name for name in [*mine, *others] if (name in mine) != (name in others)]:
        has = other if odd[0] in others else first
        raise InputError(
            f"{other.folder} is no shard of {first.folder}: only {has.folder} has the workload "
            f"{odd[0]}"
        )
