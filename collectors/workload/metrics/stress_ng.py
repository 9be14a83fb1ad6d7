"""stress-ng's ``--metrics``, ``--metrics-brief`` and ``--yaml`` (stress_metrics_dump() in
stress-ng.c of https://github.com/ColinIanKing/stress-ng; 0.15.06 and its development version).

A metric is called by its stressor and by YAML's name for it, in text too:
``mmap.bogo-ops-per-second-real-time``, ``fault.nanosecs-per-page-fault``. Where an output holds
both forms, YAML counts: it has more digits. A stressor's own metrics (``miscellaneous``) are
geometric or harmonic means over its instances in text, and arithmetic ones in YAML.
"""

import re
from collections.abc import Iterator

from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics.reading import NUMBER, Reading, lines, number
from profdiff.collectors.workload.printed_unit import unit

# Name in YAML, unit, direction; in the order of the text's columns, of which --metrics-brief and
# older versions lack the last ones.
_COLUMNS: list[tuple[str, str, Better]] = [
    ("bogo-ops", "ops", "higher"),
    ("wall-clock-time", "s", "lower"),
    ("user-time", "s", "lower"),
    ("system-time", "s", "lower"),
    ("bogo-ops-per-second-real-time", "ops/s", "higher"),
    ("bogo-ops-per-second-usr-sys-time", "ops/s", "higher"),
    ("cpu-usage-per-instance", "%", "lower"),
    ("max-rss", "KB", "lower"),
]
_KNOWN = {name: (unit, better) for name, unit, better in _COLUMNS}

# The time is there with --timestamp (core-log.c).
_LOG = re.compile(r"^stress-ng: (?:[\d:.]+ )?(?:metrc|info): +\[\d+\] (?P<text>.*)$", re.ASCII)
_ROW = re.compile(rf"(?P<stressor>\S+) +(?P<columns>{NUMBER}(?: +{NUMBER}){{5,7}})", re.ASCII)
_OWN = re.compile(
    rf"(?P<stressor>\S+) +(?P<value>{NUMBER}) (?P<what>\D.*?)"
    r"(?: \((?:\w+ mean|total|maximum) of \d+ instances?\))?",
    re.ASCII,
)
_YAML_STRESSOR = re.compile(r"^    - stressor: (\S+)$")
_YAML_VALUE = re.compile(rf"^      ([a-z][\w-]*): ({NUMBER})$", re.ASCII)


def read(output: str) -> list[Reading]:
    """Readings of YAML's ``metrics:``, or else of the log's lines."""
    log = list(lines(output))
    return list(_read_yaml(log) if "metrics:" in log else _read_text(log))


def _read_yaml(log: list[str]) -> Iterator[Reading]:
    stressor = None
    for line in log[log.index("metrics:") + 1 :]:
        if line and not line.startswith((" ", "stress-ng: ")):
            break  # times:, or the end of the document
        if match := _YAML_STRESSOR.match(line):
            stressor = match[1]
        elif stressor and (match := _YAML_VALUE.match(line)):
            yield from _reading(stressor, match[1], match[2])


def _read_text(log: list[str]) -> Iterator[Reading]:
    own = False
    for line in log:
        message = _LOG.match(line)
        text = message["text"] if message else ""
        if text == "miscellaneous metrics:":
            own = True
        elif row := _ROW.fullmatch(text):
            for (name, _, _), value in zip(_COLUMNS, row["columns"].split(), strict=False):
                yield from _reading(row["stressor"], name, value)
        elif own and (row := _OWN.fullmatch(text)):
            yield from _reading(row["stressor"], _in_yaml(row["what"]), row["value"])


def _in_yaml(description: str) -> str:
    """stress_description_yamlify() of stress-ng.c, which also cuts at 39 characters."""
    kept = re.sub(r"[^a-z0-9 %]", "", description.lower())
    return kept.replace(" ", "-").replace("%", "percent")[:39]


def _reading(stressor: str, name: str, text: str) -> Iterator[Reading]:
    value = number(text)
    if value is not None:
        measure, better = _KNOWN.get(name) or _own_unit(name)
        yield Reading(f"{stressor}.{name}", [value], measure, better)


# Descriptions that stressors give to stress_metrics_set(), in YAML's form; "opens/sec" loses its
# slash there.
_TIME = re.compile(r"(ns|ms|(?:nano|micro|milli)?sec(?:ond)?s?)-(?:per-(?P<what>.+))?")
_RATE = re.compile(r"(?P<what>.+?)(?:-per)?-?sec(?:ond)?(?:-.*)?")


def _own_unit(name: str) -> tuple[str, Better | None]:
    """Unit of a stressor's own metric: ``ns/page-fault`` of ``nanosecs-per-page-fault``,
    ``opens/s`` of ``openssec``; empty where the name has none."""
    if time := _TIME.match(name):
        return unit(time[1]) + (f"/{time['what']}" if time["what"] else ""), "lower"
    if rate := _RATE.fullmatch(name):
        what = rate["what"]
        return (what.upper() if what == "mb" else what) + "/s", "higher"
    return "", None
