"""google/benchmark, console table and JSON (src/console_reporter.cc, src/json_reporter.cc of
https://github.com/google/benchmark; 1.7.1 and its development version).

A benchmark's name gives its real time; ``NAME.cpu_time`` the other column, and in JSON
``NAME.COUNTER`` each user counter. The console rounds counters, with prefixes that meant 1,000 or
1,024 by version: they are read from JSON alone. Aggregates over the repetitions are passed over.
"""

import re
from collections import Counter
from itertools import chain
from typing import Any

from profdiff.collectors.workload.metrics import json_document
from profdiff.collectors.workload.metrics.reading import NUMBER, Reading, lines, number

_HEADER = re.compile(r"^Benchmark {2,}Time {2,}CPU\b", re.M)
_ROW = re.compile(
    rf"^(?P<name>\S++(?: \S++)*?) ++(?P<real>{NUMBER}) (?P<unit>ns|us|ms|s) +"
    rf"(?P<cpu>{NUMBER}) (?P=unit) +(?P<iterations>\d+)(?: .*)?$",
    re.ASCII,
)
_FAILED = re.compile(r"^(?P<name>\S++(?: \S++)*?) ++ERROR OCCURRED: '")
# src/statistics.cc and benchmark.cc: what every repeated benchmark gets.
_STATISTICS = ("mean", "median", "stddev")
# What JSONReporter::PrintRunData writes of a run beside its counters.
_NO_COUNTERS = {
    *("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"),
    *("iterations", "real_time", "cpu_time"),
}


def read(output: str) -> list[Reading]:
    """Readings of JSON documents, or else of console tables; empty if there is neither."""
    documents = json_document.find(output, "benchmarks")
    if documents:
        return _read_json(list(chain.from_iterable(documents)))
    header = _HEADER.search(output)
    return _read_console(list(lines(output[header.end() :]))) if header else []


def _read_console(table: list[str]) -> list[Reading]:
    rows = [row for line in table if (row := _ROW.match(line))]
    times = Counter(row["name"] for row in rows)
    readings: dict[str, Reading] = {}
    for row in rows:
        name, unit = row["name"], row["unit"]
        if not _is_aggregate(name, int(row["iterations"]), times):
            for suffix, column in (("", "real"), (".cpu_time", "cpu")):
                value = number(row[column])
                if value is not None:
                    _add(readings, name + suffix, name + suffix, value, unit)
    for line in table:
        if failed := _FAILED.match(line):
            readings.setdefault(failed["name"], Reading(failed["name"], [], "ns"))
    return list(readings.values())


def _is_aggregate(name: str, iterations: int, times: Counter[str]) -> bool:
    """An aggregate's row is its benchmark's name and a statistic's; for iterations it has the
    number of repetitions. Where aggregates alone were asked for, all the usual ones are there."""
    repetitions = (times[name[: under.start()]] for under in re.finditer("_", name))
    if any(1 < iterations == repeated for repeated in repetitions):
        return True
    benchmark, _, statistic = name.rpartition("_")
    return statistic in _STATISTICS and all(
        f"{benchmark}_{other}" in times for other in _STATISTICS
    )


def _read_json(runs: list[dict[str, Any]]) -> list[Reading]:
    readings: dict[object, Reading] = {}
    for run in runs:
        name, unit = run.get("name"), run.get("time_unit", "ns")
        if not isinstance(name, str) or not isinstance(unit, str):
            continue
        if run.get("run_type") == "aggregate" or run.get("skipped") is True:
            continue
        # Two benchmarks may have one name: they differ in these.
        indices = (run.get("family_index"), run.get("per_family_instance_index"))
        row = (name, *map(json_document.number, indices))
        if run.get("error_occurred") is True:
            readings.setdefault((row, ""), Reading(name, [], unit))
            continue
        for column, value in run.items():
            value = json_document.number(value)
            if value is None:
                continue
            if column == "real_time":
                _add(readings, (row, ""), name, value, unit)
            elif column == "cpu_time":
                _add(readings, (row, column), f"{name}.{column}", value, unit)
            elif column not in _NO_COUNTERS:
                _add(readings, (row, column), f"{name}.{column}", value, _counter_unit(column))
    return list(readings.values())


def _add(readings: dict[Any, Reading], key: object, name: str, value: float, unit: str) -> None:
    readings.setdefault(key, Reading(name, [], unit)).values.append(value)


def _counter_unit(counter: str) -> str:
    """``B/s`` and ``items/s`` of SetBytesProcessed and SetItemsProcessed; a user's own counter has
    no unit in the output, but may be called a rate."""
    if counter == "bytes_per_second":
        return "B/s"
    return counter.removesuffix("_per_second") + "/s" if counter.endswith("_per_second") else ""
