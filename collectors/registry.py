"""The collectors that there are: profdiff's own, and those of installed packages.

A package names its collector in the entry-point group ``profdiff.collectors``: the collector's
name, and the object.
"""

from functools import cache

import click

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.collector import Collector
from profdiff.collectors.contention import Contention
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.lines.entry import Lines
from profdiff.collectors.perf.entry import Imported, Perf
from profdiff.collectors.probe.entry import Probe
from profdiff.collectors.sharing.entry import Sharing
from profdiff.collectors.stat.entry import Stat
from profdiff.collectors.timed import Timed
from profdiff.collectors.trace.entry import Trace

# The first that can record in a place is taken where none is named.
_COLLECTORS: tuple[Collector, ...] = (
    *(Exact(), Perf(), Timed(), Stat(), Trace(), Probe(), Sharing(), Contention(), Lines()),
    Imported(),
)
_OWN = {one.name: one for one in _COLLECTORS}
GROUP = "profdiff.collectors"


@cache
def _installed() -> dict[str, Collector]:
    """Those of other packages. Raises MissingError when one cannot be loaded."""
    from importlib import metadata

    found: dict[str, Collector] = {}
    for entry in metadata.entry_points(group=GROUP):
        try:
            loaded = entry.load()
        # Whatever a stranger's module raises while it is imported.
        except Exception as error:
            raise MissingError(
                f"cannot load the collector {entry.value} ({error}): update its package, or "
                "uninstall it"
            ) from error
        if not isinstance(loaded, Collector) or loaded.name in _OWN.keys() | found.keys():
            raise MissingError(
                f"{entry.value} is not a collector with a name of its own: uninstall its package"
            )
        found[loaded.name] = loaded
    return found


def recording() -> dict[str, Collector]:
    """Those that can record, by name."""
    return {name: one for name, one in {**_OWN, **_installed()}.items() if one.records}


def options() -> list[click.Option]:
    """Those of all collectors that can record; one that several have, once."""
    return list(dict.fromkeys(option for one in recording().values() for option in one.options))


def collector(name: str) -> Collector:
    """The one of that name. Raises InputError."""
    found = _OWN.get(name) or _installed().get(name)
    if found is None:
        known = ", ".join({**_OWN, **_installed()})
        raise InputError(f"there is no collector {name} (known: {known}): install its package")
    return found


def is_default(name: str) -> bool:
    """Whether it is the one that is tried first, whose name is left out of runs' ids."""
    return name == next(iter(_OWN))


def spelled(name: str, value: object) -> str:
    """An option of a collector as the command line has it: ``--boot-runs 3``."""
    option = next((option for option in options() if option.name == name), None)
    if option is None:
        return f"{name} {value}"
    if option.is_flag:
        return option.opts[0] if value or not option.secondary_opts else option.secondary_opts[0]
    if value is None or value == []:
        return f"no {option.opts[0]}"
    values = value if isinstance(value, list) else [value]
    told = map(str, values) if option.multiple else [",".join(map(str, values))]
    return " ".join(f"{option.opts[0]} {one}" for one in told)
