"""fio's ``--output-format=json`` (stat.c of https://github.com/axboe/fio), also below its lines of
text or warnings.

A metric is called by its path: ``JOB.read.iops``, ``JOB.write.clat_ns.mean``,
``JOB.read.clat_ns.percentile.99.000000``, ``JOB.sys_cpu``. Directions without any I/O are passed
over, and so are settings and histograms. Jobs of one name (``numjobs`` without
``--group_reporting``) stay apart, so that their name is ambiguous.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from profdiff.base.errors import InputError
from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics import json_document
from profdiff.collectors.workload.metrics.reading import Reading

_DIRECTIONS = ("read", "write", "trim", "sync")
# The values of a direction. bw is bw_bytes in KiB/s, io_kbytes io_bytes: once is enough.
_RATES: dict[str, str] = {"iops": "ops/s", "iops_mean": "ops/s", "bw_bytes": "B/s"}
_LATENCIES = ("slat_ns", "clat_ns", "lat_ns")
_MOMENTS = ("min", "max", "mean", "stddev")
_OF_JOB = {"usr_cpu": "%", "sys_cpu": "%", "ctx": "switches", "majf": "faults", "minf": "faults"}
_OF_JOB["job_runtime"] = "ms"


def read(output: str) -> list[Reading]:
    """Readings of each JSON document. Raises InputError: there is none, or a job failed."""
    readings: list[Reading] = []
    documents = json_document.find_of("fio --output-format=json", output, "jobs")
    for job in chain.from_iterable(documents):
        name = job.get("jobname")
        if not isinstance(name, str):
            continue
        if error := json_document.number(job.get("error")):
            raise InputError(f"fio says that job {name!r} failed, with error {error:.6g}")
        readings += _members(name, job, _OF_JOB)
        for direction in _DIRECTIONS:
            member = job.get(direction)
            if isinstance(member, dict) and json_document.number(member.get("total_ios")):
                readings += _of_direction(f"{name}.{direction}", member)
    return readings


def _of_direction(name: str, direction: dict[str, Any]) -> Iterator[Reading]:
    for member, unit in _RATES.items():
        # iops_mean comes from samples, of which a short job has none.
        if member != "iops_mean" or direction.get("iops_samples"):
            yield from _members(name, direction, {member: unit})
    for latency in _LATENCIES:
        moments = direction.get(latency)
        if isinstance(moments, dict) and moments.get("N"):
            yield from _members(f"{name}.{latency}", moments, dict.fromkeys(_MOMENTS, "ns"))
            percentiles = moments.get("percentile")
            if isinstance(percentiles, dict):
                units = dict.fromkeys(percentiles, "ns")
                yield from _members(f"{name}.{latency}.percentile", percentiles, units)


def _members(name: str, record: dict[str, Any], units: dict[str, str]) -> Iterator[Reading]:
    for member, unit in units.items():
        value = json_document.number(record.get(member))
        if value is not None:
            better: Better | None = "higher" if unit.endswith("/s") else None
            yield Reading(f"{name}.{member}", [value], unit, better)
