"""What a shell can complete: kernels, sessions, and the labels, metrics and functions in one.

Each function is an option's ``shell_complete``. A shell shows no errors while it completes: what
cannot be read has nothing to offer.

The session that a command means where none is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base.errors import ProfdiffError, SessionError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from profdiff.session.session import Session


_Values = Callable[[click.Context, click.Parameter, str], list[str]]


def _quiet(values: _Values) -> _Values:
    @wraps(values)
    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        try:
            return values(context, parameter, typed)
        except (ProfdiffError, OSError, ValueError):
            return []

    return complete


@_quiet
def names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The names of registered kernels."""
    from profdiff.collectors.kernels.registered import registered

    return _beginning(typed, registered())


@_quiet
def topics(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """What ``profdiff report`` shows by itself."""
    from profdiff.reports.topics import TOPICS

    return _beginning(typed, TOPICS)


@_quiet
def kernels(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """``[LABEL=]SPEC``: registered names, Debian's suites, this machine, folders and files."""
    from profdiff.collectors.kernels.kinds.registry import KINDS
    from profdiff.collectors.kernels.label import is_label
    from profdiff.collectors.kernels.registered import registered

    label, equals, after = typed.partition("=")
    before, spec = (label + equals, after) if equals and is_label(label) else ("", typed)
    for prefix in (kind.prefix for kind in KINDS if kind.of_folder):
        if spec.startswith(prefix):
            found = _entries(spec.removeprefix(prefix))
            folders = [entry for entry in found if Path(entry).expanduser().is_dir()]
            return [f"{before}{prefix}{_shown(entry)}" for entry in folders]
    whole = [completion for kind in KINDS for completion in kind.completions()]
    known = _beginning(spec, [*registered(), *whole])
    return [before + value for value in (*known, *map(_shown, _entries(spec)))]


@_quiet
def sessions(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Session folders, those of several parts and suites too, and where none begins so, the folders
    that may hold one."""
    from profdiff.session.held import held

    folders = [entry for entry in _entries(typed) if Path(entry).expanduser().is_dir()]
    places = {entry: Path(entry).expanduser() for entry in folders}
    found = [entry for entry, place in places.items() if held(place)]
    return found or [_shown(entry) for entry in folders]


@_quiet
def labelled_sessions(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """``[LABEL=]SESSION``."""
    label, equals, _ = typed.rpartition("=")
    found = sessions(context, parameter, typed.removeprefix(label + equals))
    return [f"{label}{equals}{one}" for one in found]


@_quiet
def cells(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The cells of the suite."""
    from profdiff.session.held import held
    from profdiff.session.suite import Suite
    from profdiff.session.suite import cells as located

    words = [context.params.get("session"), *context.args]
    given = next((Path(word) for word in words if word and held(Path(word)) == "suite"), None)
    return _beginning(typed, list(located(Suite.open(given or newest(Path())))))


@_quiet
def suites(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The built-in suites, TOML files, and folders that may hold one."""
    from profdiff.commands.suite_file import installed

    entries = [entry for entry in _entries(typed) if entry.endswith(".toml")]
    folders = [entry for entry in _entries(typed) if Path(entry).expanduser().is_dir()]
    return [*_beginning(typed, installed()), *entries, *map(_shown, folders)]


@_quiet
def workloads(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The workloads of the suite that the command line names."""
    from profdiff.commands.suite_file import located, names

    given = context.params.get("suite")
    return _beginning(typed, names(located(given))) if given else []


@_quiet
def labels(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The kernels of the session that are compared with the base."""
    return _beginning(typed, _labels(context)[1:])


@_quiet
def every_label(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The kernels of the session."""
    return _beginning(typed, _labels(context))


@_quiet
def sources(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """``LABEL=TREE``: the kernels of the session, then folders."""
    label, equals, path = typed.partition("=")
    if not equals:
        return [f"{name}=" for name in _beginning(label, _labels(context))]
    folders = [entry for entry in _entries(path) if Path(entry).expanduser().is_dir()]
    return [f"{label}={_shown(entry)}" for entry in folders]


@_quiet
def functions(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The functions that kernels of the session executed."""
    return _beginning(typed, sorted(_functions(_sessions(context))))


@_quiet
def sessions_or_functions(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[str]:
    """Complete the first of two words, where the session may be omitted: session folders, and the
    functions of the newest."""
    from profdiff.session import opened
    from profdiff.session.held import held

    folders = [entry for entry in _entries(typed) if Path(entry).expanduser().is_dir()]
    known = {entry: held(Path(entry).expanduser()) for entry in folders}
    found = [entry for entry, has in known.items() if has == "session"]
    # It, or one of its parts, which is typed on.
    found += [f"{entry}/" for entry, has in known.items() if has == "parts"]
    with suppress(ProfdiffError):
        known_to = opened.open(newest(Path())).sessions().values()
        found += _beginning(typed, sorted(_functions(known_to)))
    return found or [_shown(entry) for entry in folders]


@_quiet
def metrics(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The metrics whose functions the session knows."""
    from profdiff.collectors import registry

    runs = [run for session in _sessions(context) for run in session.manifest.runs]
    able = [run for run in runs if registry.collector(run.collector).profiles]
    return _beginning(typed, sorted({one.name for run in able for one in run.measured}))


@_quiet
def points(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """``NAME=VALUE,...``: the parameters that a sweep varies, and their values at the points that
    have what is typed so far."""
    from profdiff.session.points import settings

    before, comma, last = typed.rpartition(",")
    given = dict(one.split("=", 1) for one in before.split(",") if "=" in one)
    every = [one for session in _sessions(context) for one in settings(session.manifest)]
    left = [one for one in every if all(one.value(name) == value for name, value in given.items())]
    name, equals, _ = last.partition("=")
    if equals:
        found = [f"{name}={one.value(name)}" for one in left if name in one.varied]
    else:
        found = [f"{name}=" for one in left for name in one.varied if name not in given]
    return [f"{before}{comma}{one}" for one in dict.fromkeys(_beginning(last, found))]


def listed(typed: str, known: Iterable[str]) -> list[CompletionItem]:
    """Names separated by commas: those that may follow."""
    from click.shell_completion import CompletionItem

    before, comma, last = typed.rpartition(",")
    given = before.split(",")
    names = _beginning(last, (name for name in known if name not in given))
    return [CompletionItem(f"{before}{comma}{name}") for name in names]


@_quiet
def conditions(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """``METRIC:WHAT`` of a condition: the metrics of the session, then its functions."""
    found = _sessions(context)
    metric, colon, what = typed.rpartition(":")
    if not colon:
        runs = [run for session in found for run in session.manifest.runs]
        metrics = {measured.name for run in runs for measured in run.measured}
        return [f"{name}:" for name in _beginning(typed, sorted(metrics))]
    values = _beginning(what, ["total", "kernel", "user", *sorted(_functions(found))])
    return [f"{metric}:{value}" for value in values]


def _labels(context: click.Context) -> list[str]:
    """The labels of the kernels in any part, the base first: what one compiler does not build,
    another may."""
    kernels = [kernel for session in _sessions(context) for kernel in session.manifest.kernels]
    there = {kernel.label for kernel in kernels if not kernel.hole}
    return [label for label in dict.fromkeys(one.label for one in kernels) if label in there]


def _functions(sessions: Iterable[Session]) -> set[str]:
    """The functions that kernels of the sessions executed, by their kept chains."""
    from profdiff.profile.function_identity import Function
    from profdiff.symbolization.chains import Chains

    found: set[str] = set()
    for session in sessions:
        for kernel in session.manifest.kernels:
            if kernel.symbols:
                chains = Chains.load(session.path(kernel.symbols))
                texts = {chains.strings[name] for name in set(chains.function_name.tolist())}
                found |= {Function.of(text, "", "", False).name for text in texts}
    return found


def _sessions(context: click.Context) -> list[Session]:
    """What the command is about: a session, or several."""
    from profdiff.session import opened
    from profdiff.session.held import held

    given = context.params.get("session")
    # The first of annotate's two words may be omitted: then the only one is not a session.
    if given and "function" in context.params and held(Path(given)) != "session":
        given = None
    # Behind an option whose value is completed, click has not told words apart.
    words = [] if given else [Path(word) for word in context.args]
    given = given or next((one for one in words if held(one) in ("session", "parts")), None)
    folder = Path(given or newest(Path()))
    return list(opened.open(folder).sessions().values())


def _beginning(typed: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(typed)]


def _entries(typed: str) -> list[str]:
    """What lies in the folder that is typed so far, as it would be typed on; hidden files only
    where a dot is typed."""
    folder, last = os.path.split(typed)
    inside = Path(folder).expanduser() if folder else Path()
    found = sorted(entry.name for entry in inside.iterdir() if entry.name.startswith(last))
    return [os.path.join(folder, name) for name in found if last or name[0] != "."]  # noqa: PTH118


def _shown(entry: str) -> str:
    """A folder ends with a slash, behind which one types on."""
    return f"{entry}/" if Path(entry).expanduser().is_dir() else entry


def newest(folder: Path) -> Path:
    """What was recorded last in ``folder``: a session, parts, or a suite, which are one with their
    parts. Raises SessionError."""
    from profdiff.session.held import held

    # In the folder of parts, all of them are meant.
    whole = held(folder) in ("parts", "suite")
    places = [folder] if whole else [*folder.iterdir(), folder]
    times = {place: time for place in places if (time := _last_written(place)) is not None}
    if not times:
        raise SessionError(
            "no session in this folder: name one, or create one with profdiff record"
        )
    return max(times, key=lambda place: times[place])


def _last_written(folder: Path) -> float | None:
    """When what is recorded in ``folder`` was last written, in seconds since 1970; None: there is
    nothing."""
    from profdiff.session.held import held, says_so

    has, first = held(folder), says_so(folder)
    if has is None or first is None:
        return None
    depth = {"session": (), "parts": ("*",), "suite": ("*", "*/*")}[has]
    files = [manifest for one in depth for manifest in folder.glob(f"{one}/manifest.json")]
    return max(file.stat().st_mtime for file in [first, *files])
