"""hyperfine's ``--export-json`` (src/benchmark/benchmark_result.rs of
https://github.com/sharkdp/hyperfine): each command gives its times, ``COMMAND.user`` and
``COMMAND.system`` their means, all in seconds, and newer versions ``COMMAND.memory`` in bytes."""

from typing import Any

from profdiff.collectors.workload.metrics import json_document
from profdiff.collectors.workload.metrics.reading import Reading


def read(output: str) -> list[Reading]:
    """Readings of the JSON document. Raises InputError: there is none."""
    results: list[dict[str, Any]] = []
    for document in json_document.find_of("hyperfine --export-json", output, "results"):
        # After each command it writes again all that it has so far (export/mod.rs).
        results = document if document[: len(results)] == results else results + document
    readings = []
    for result in results:
        command = result.get("command")
        if not isinstance(command, str):
            continue
        readings.append(Reading(command, _numbers(result.get("times", [result.get("mean")])), "s"))
        for member, unit in (("user", "s"), ("system", "s"), ("memory_usage_byte", "B")):
            values = result.get(member)
            values = _numbers(values if isinstance(values, list) else [values])
            if values:
                suffix = "memory" if member == "memory_usage_byte" else member
                readings.append(Reading(f"{command}.{suffix}", values, unit))
    return readings


def _numbers(values: Any) -> list[float]:
    """The numbers among ``values``, which stand in a list."""
    listed = values if isinstance(values, list) else []
    return [value for value in map(json_document.number, listed) if value is not None]
