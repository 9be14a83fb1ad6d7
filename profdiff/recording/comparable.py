"""Whether two stored recordings were measured alike, so that counts of one can be compared with
those of the other: what one command would have given to all kernels."""

import shlex
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.machine.environment import Environment
from profdiff.session import manifest as m
from profdiff.session.points import name, settings
from profdiff.session.session import Session

_NAMED, _DIGITS = 4, 12
_AGAIN = "record one of them again with what the other has"
# What a machine says of itself that no kernel decides (environment.sh).
_HARDWARE = ("architecture", "processor", "cpus", "hypervisor")


class Common(NamedTuple):
    """What two sessions both have. ``rows``: of each, by row of its points, the row of ``points``;
    ``left_out``: what only one has, a clause for each."""

    collectors: Sequence[str]
    points: Sequence[m.Point]
    rows: tuple[Mapping[int, int], Mapping[int, int]]
    left_out: Sequence[str]


class _Unlike(NamedTuple):
    """What each was recorded with, and what to do."""

    was: str
    now: str
    fix: str = _AGAIN


def alike(one: Session, other: Session, names: tuple[str, str]) -> Common:
    """What can be compared. ``names``: of the recordings, as a message calls them. Raises
    InputError where nothing can, with what differs and what to do."""
    _refuse(_unlike(one, other), names)
    mine, its = one.manifest, other.manifest
    known, found = _keys(mine), _keys(its)
    shared = _shared(mine, its)
    rows = {key: row for row, key in enumerate(shared)}
    points = [mine.points[known[key]] for key in shared]
    return Common(
        _collectors(mine, its),
        [m.replace(one, shorter=_shorter(mine, one, rows)) for one in points],
        (
            {row: rows[key] for key, row in known.items() if key in rows},
            {row: rows[key] for key, row in found.items() if key in rows},
        ),
        [*_only(names[0], mine, its), *_only(names[1], its, mine)],
    )


def refuse_other_programs(kernels: tuple[m.Kernel, m.Kernel], names: tuple[str, str]) -> None:
    """Raise InputError where both kernels ran a program of the same name (``--variant``), but with
    other contents."""
    mine, its = kernels
    if mine.variant.program == its.variant.program:
        _refuse(_files(mine.files, its.files), names)


def _refuse(unlike: Iterator[_Unlike], names: tuple[str, str]) -> None:
    for one in unlike:
        told = f"{names[0]} was recorded with {one.was}, {names[1]} with {one.now}: {one.fix}"
        raise InputError(units.printable(told))


def _collectors(one: m.Manifest, other: m.Manifest) -> list[str]:
    return [collector for collector in one.collectors if collector in other.collectors]


def _key(manifest: m.Manifest, point: m.Point) -> tuple[Hashable, ...]:
    """What a point is: parameters, vCPUs and ops, its own and those of the one that is subtracted,
    if there is one."""
    both = [point] if point.shorter is None else [point, manifest.points[point.shorter]]
    return tuple((*sorted(one.parameters.items()), one.cpus, one.ops) for one in both)


def _keys(manifest: m.Manifest) -> dict[tuple[Hashable, ...], int]:
    """The points' rows by what they are."""
    found: dict[tuple[Hashable, ...], int] = {}
    for row, point in enumerate(manifest.points):
        found.setdefault(_key(manifest, point), row)
    return found


def _shared(one: m.Manifest, other: m.Manifest) -> list[tuple[Hashable, ...]]:
    """The points of both, in the order of the first; with what is subtracted. What one subtracts is
    no point of the other."""
    mine, its = (
        {_key(manifest, manifest.points[setting.point]) for setting in settings(manifest)}
        for manifest in (one, other)
    )
    both = mine & its
    needed = both | {key[1:] for key in both}
    return [key for key in _keys(one) if key in needed]


def _shorter(
    manifest: m.Manifest, point: m.Point, rows: Mapping[tuple[Hashable, ...], int]
) -> int | None:
    """The row of the point that is subtracted from ``point``."""
    if point.shorter is None:
        return None
    return rows.get(_key(manifest, manifest.points[point.shorter]))


def _only(told: str, one: m.Manifest, other: m.Manifest) -> Iterator[str]:
    """What only ``one`` has, which is called ``told``."""
    if more := [collector for collector in one.collectors if collector not in other.collectors]:
        yield f"only {told} has runs of {units.listed(more)}"
    others = _keys(other)
    rows = {row for key, row in _keys(one).items() if key not in others}
    more = [name(setting) for setting in settings(one) if setting.point in rows]
    if more:
        what = "the point" if len(more) == 1 else f"{len(more):,} points:"
        yield f"only {told} has {what} {units.few(more, _NAMED)}"


def _unlike(one: Session, other: Session) -> Iterator[_Unlike]:
    mine, its = one.manifest, other.manifest
    yield from _workloads(mine.workload, its.workload)
    yield from _guests(mine.guest, its.guest)
    collectors = _collectors(mine, its)
    if not collectors:
        told = [f"--collector {','.join(manifest.collectors)}" for manifest in (mine, its)]
        yield _Unlike(told[0], told[1])
    used = {option.name for each in collectors for option in registry.collector(each).options}
    for option in sorted(mine.options.keys() & its.options.keys() & used):
        was, now = mine.options[option], its.options[option]
        if was != now:
            yield _Unlike(registry.spelled(option, was), registry.spelled(option, now))
    if mine.order.vary != its.order.vary:
        told = [("" if one.order.vary else "no ") + "--vary-boots" for one in (mine, its)]
        yield _Unlike(told[0], told[1])
    # Varied states are drawn from it. Otherwise it decides the order of runs.
    varied = all(any(run.state for run in manifest.runs) for manifest in (mine, its))
    if varied and mine.order.seed != its.order.seed:
        yield _Unlike(f"--seed {mine.order.seed}", f"--seed {its.order.seed}")
    for collector in collectors:
        yield from _runs(mine, its, collector)
        yield from _machines(one, other, collector)
    if not _shared(mine, its):
        yield _Unlike(_points(mine), _points(its))


def _points(manifest: m.Manifest) -> str:
    known = []
    for setting in settings(manifest):
        ops = [manifest.points[row].ops for row in setting.points]
        values = [f"{name}={value}" for name in setting.names if (value := setting.value(name))]
        told = " and ".join("unknown" if one is None else f"{one:,}" for one in ops)
        known.append(f"{', '.join(values)} ({told} ops)")
    return f"the point{'s' if len(known) > 1 else ''} {units.few(known, _NAMED)}"


def _workloads(mine: m.Workload, its: m.Workload) -> Iterator[_Unlike]:
    if (mine.kind, mine.guest_argv) != (its.kind, its.guest_argv):
        told = [f"the {each.kind} {shlex.join(each.argv)}" for each in (mine, its)]
        yield _Unlike(told[0], told[1])
    if mine.copies != its.copies:
        yield _Unlike(f"--copies {mine.copies}", f"--copies {its.copies}")
    if mine.replay != its.replay:
        told = [each.replay.told if each.replay else "no trace" for each in (mine, its)]
        yield _Unlike(told[0], told[1])
    yield from _files(mine.files, its.files)


def _files(mine: Sequence[m.WorkloadFile], its: Sequence[m.WorkloadFile]) -> Iterator[_Unlike]:
    known, found = ({file.guest_path: _content(file) for file in each} for each in (mine, its))
    for path in dict.fromkeys([*known, *found]):
        was, now = known.get(path, "missing"), found.get(path, "missing")
        if was != now:
            # profdiff's own programs in the guest are its own, or Debian's.
            own = path.startswith(("/bin/", "/profdiff/"))
            fix = f"record both with the same {'profdiff and busybox' if own else 'file'}"
            yield _Unlike(f"{path} {was}", f"{path} {now}", fix)


def _content(file: m.WorkloadFile) -> str:
    return f"{'' if file.executable else 'not executable, '}(sha256 {file.sha256[:_DIGITS]})"


def _guests(mine: m.Guest | None, its: m.Guest | None) -> Iterator[_Unlike]:
    if mine is None or its is None:
        if mine is not its:
            told = ["guests" if each else "a machine" for each in (mine, its)]
            yield _Unlike(told[0], told[1], "record both in guests, or both on a machine")
        return
    if mine.restored != its.restored:
        told = ["--restore" if each.restored else "--no-restore" for each in (mine, its)]
        yield _Unlike(told[0], told[1])
    for field in ("memory", "append", "settle", "cpu"):
        was, now = (_given(field, getattr(each, field)) for each in (mine, its))
        if was != now:
            yield _Unlike(was, now)


def _given(field: str, value: str | float | None) -> str:
    """An option of a guest as the command line has it."""
    if value is None or value == "":
        return f"no --{field}"
    text = f"{value}M" if field == "memory" else f"{value:g}" if field == "settle" else str(value)
    return f"--{field} {shlex.quote(text)}"


# Of an emulator and of samples, what may differ: arguments name files, and a kernel's own perf is
# of its version.
_MAY_DIFFER = {"QEMU": ("arguments",), "perf": ("version", "command", "fallback")}


def _runs(one: m.Manifest, other: m.Manifest, collector: str) -> Iterator[_Unlike]:
    """What emulated and sampled them."""
    mine, its = _first(one, collector), _first(other, collector)
    if mine is None or its is None:
        return
    # QEMU's plugin and the guest's scripts are profdiff's.
    if mine.qemu and its.qemu and one.profdiff != other.profdiff:
        fix = "record one of them again with the profdiff of the other"
        yield _Unlike(f"profdiff {one.profdiff}", f"profdiff {other.profdiff}", fix)
    both = {"QEMU": (mine.qemu, its.qemu), "perf": (mine.sampling, its.sampling)}
    for what, (was, now) in both.items():
        for field in was.__struct_fields__ if was and now else ():
            values = [getattr(made, field) for made in (was, now)]
            if field not in _MAY_DIFFER[what] and values[0] != values[1]:
                told = [_told(what, field, value) for value in values]
                fix = "record one of them again with the QEMU of the other"
                yield _Unlike(told[0], told[1], fix if what == "QEMU" else _AGAIN)


def _told(what: str, field: str, value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if field == "version" else f"{what}'s {field.replace('_', ' ')} {text or 'none'}"


def _first(manifest: m.Manifest, collector: str) -> m.Run | None:
    runs = (run for run in manifest.runs if run.collector == collector and run.failure is None)
    return next(runs, None)


def _machines(one: Session, other: Session, collector: str) -> Iterator[_Unlike]:
    """What hardware says of itself, where no emulator hides it."""
    mine, its = _hardware(one, collector), _hardware(other, collector)
    for what in _HARDWARE:
        was, now = mine.get(what, ""), its.get(what, "")
        if mine and its and was != now:
            fix = "record both on one machine"
            yield _Unlike(f"{what} {was or 'unknown'}", f"{what} {now or 'unknown'}", fix)


def _hardware(session: Session, collector: str) -> Mapping[str, str]:
    run = _first(session.manifest, collector)
    if run is None or (run.qemu is not None and run.qemu.accelerator != "kvm"):
        return {}
    try:
        said = session.read(run, "environment") or b""
    except SessionError:
        return {}
    return Environment.parse(said.decode(errors="replace")).values
