"""The report's data, ``profdiff.report/1``: what ``--json`` writes and the page shows.

``profdiff/report.schema.json`` is its schema; ``docs/report.md`` explains it.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import Any

from profdiff import __version__
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports import evidence_document, evidence_text, facts_document, samples, summary

SCHEMA = "profdiff.report/1"


def document(findings: Findings) -> dict[str, Any]:
    """Everything that was found, as JSON types; counts are integers.

    Metrics of a collector that has a result for fewer kernels are left out; the evidence says so.
    """
    comparisons, manifest = findings.comparisons, findings.manifest
    labels = [kernel.label for kernel in findings.kernels]
    guest = manifest.guest
    shown = [one for one in comparisons if one.labels == labels]
    tables = list({id(one.stacks): one for one in shown}.values())

    return {
        "schema": SCHEMA,
        "profdiff": __version__,
        "answers": [
            *evidence_text.answers(findings.evidence, findings.setting),
            *(answer for one in comparisons for answer in summary.answers(one)),
        ],
        "evidence": [*findings.remarks, *summary.evidence(comparisons)],
        "base": labels[0],
        "kernels": [
            {
                "label": kernel.label,
                "release": kernel.release,
                "build_id": kernel.build_id,
                "version": kernel.version,
                "compiler": kernel.compiler,
                "spec": kernel.spec,
                "image_sha256": kernel.image_sha256,
                **_told(findings, number),
            }
            for number, kernel in enumerate(findings.kernels)
        ],
        "without_result": comparisons[0].without_result if comparisons else [],
        "workload": {
            "argv": manifest.workload.argv,
            "ops": findings.ops,
            "description": summary.workload(manifest, findings.setting),
        },
        "guest": guest
        and {
            "memory_mib": guest.memory,
            "cpus": findings.setting.cpus,
            "append": guest.append,
            "settle": guest.settle,
        },
        "facts": facts_document.facts(findings),
        "experiment": evidence_document.experiment(findings),
        "report_command": shlex.join(["profdiff", *sys.argv[1:]]),
        "recorded": {"created": manifest.created, "command": manifest.command},
        "runs": [
            {
                "id": run.id,
                "kernel": run.kernel,
                "collector": run.collector,
                "point": run.point,
                "repetition": run.repetition,
                "started": run.started,
                "wall_seconds": run.wall_seconds,
                "failure": run.failure.message if run.failure else None,
                "instructions": run.instructions.kernel + run.instructions.user
                if run.instructions
                else None,
            }
            for run in manifest.runs
        ],
        "stacks": [_stacks(one) for one in tables],
        "metrics": [_metric(one, _beside(one, comparisons), _table(tables, one)) for one in shown],
    }


def _told(findings: Findings, kernel: int) -> dict[str, Any]:
    """What the runs of a kernel's profile tell of it, or timed runs where there are no others."""
    if not findings.comparisons:
        label = findings.kernels[kernel].label
        runs = [run for run in findings.manifest.runs if run.kernel == label and not run.failure]
        here = sum(run.point in findings.setting.points for run in runs)
        return {"inlines_visible": False, "runs": here, "reproduced": None}
    first = findings.comparisons[0]
    repetitions = first.repetitions[kernel]
    return {
        "inlines_visible": first.inlines_visible[kernel],
        "runs": repetitions.runs,
        "reproduced": repetitions.identical if repetitions.runs > 1 else None,
    }


def _table(tables: Sequence[Comparison], comparison: Comparison) -> int:
    """Which of ``tables`` has the comparison's stacks: metrics of one collector share them."""
    return next(n for n, one in enumerate(tables) if one.stacks is comparison.stacks)


def _stacks(comparison: Comparison) -> dict[str, Any]:
    stacks = comparison.stacks
    return {
        "parent": stacks.parent.tolist(),
        "function": stacks.function.tolist(),
        "unnamed": [
            {"reason": function.reason, "side": "kernel" if function.in_kernel else "user"}
            for function in comparison.unnamed
        ],
        "inlined": {
            label: comparison.inlined[:, kernel].astype(int).tolist()
            for kernel, label in enumerate(comparison.labels)
        },
    }


def _beside(comparison: Comparison, all_: Sequence[Comparison]) -> Comparison | None:
    """The instructions that were sampled together with ``comparison``, if that is cycles."""
    collector = comparison.runs[0].collector
    others = [one for one in all_ if one.runs[0].collector == collector and one is not comparison]
    return samples.instructions_of([comparison, *others])


def _metric(comparison: Comparison, instructions: Comparison | None, table: int) -> dict[str, Any]:
    labels = comparison.labels
    counted = comparison.samples

    def marks(row: int) -> dict[str, str]:
        found = {
            label: samples.marks(comparison, instructions, row, kernel)
            for kernel, label in enumerate(labels)
            if kernel
        }
        return {label: samples.LEGEND[mark] for label, mark in found.items() if mark}

    def by_label(values: Any) -> dict[str, int]:
        return {label: int(value) for label, value in zip(labels, values, strict=True)}

    return {
        "metric": comparison.metric.name,
        "unit": comparison.metric.unit,
        "collector": comparison.runs[0].collector,
        "exact": comparison.metric.exact,
        "totals": by_label(comparison.totals()),
        "stacks": table,
        "counts": _columns(comparison, comparison.counts),
        "calls": None if comparison.calls is None else _columns(comparison, comparison.calls),
        "unresolved": [
            {
                "reason": reason,
                "side": "kernel" if in_kernel else "user",
                "self": by_label(counts),
            }
            for (reason, in_kernel), counts in comparison.unresolved.items()
        ],
        "functions": [
            {
                "name": function.name,
                "object": function.object,
                "file": function.file,
                "line": by_label(comparison.lines[row]),
                "side": "kernel" if function.in_kernel else "user",
                "namesakes": comparison.namesakes[row],
                "symbols": comparison.symbols[row],
                "self": by_label(comparison.self_[row]),
                "total": by_label(comparison.total[row]),
                "samples": None if counted is None else by_label(counted[row]),
                "marks": {} if counted is None else marks(row),
            }
            for row, function in enumerate(comparison.functions)
        ],
    }


def _columns(comparison: Comparison, values: Any) -> dict[str, list[int]]:
    """Columns over all stacks, by label."""
    return dict(zip(comparison.labels, values.T.tolist(), strict=True))
