"""What a report says of waiting: instructions where vCPUs take turns at random places, beside those
where none waits."""

from profdiff.base import units
from profdiff.base.metric import INSTRUCTIONS, MODELLED
from profdiff.evidence.cell import Cell
from profdiff.evidence.findings import Findings


def sentences(findings: Findings) -> list[str]:
    """One, if both were recorded at the setting."""
    every = findings.results.at(findings.setting)
    alone = next((one for one in every if one.metric == INSTRUCTIONS), None)
    model = next((one for one in every if one.metric.kind == MODELLED), None)
    if alone is None or model is None or alone.ops != model.ops:
        return []
    pairs = zip(findings.results.labels, alone.cells, model.cells, strict=True)
    added = [(label, text) for label, one, other in pairs if (text := _added(one, other))]
    if not added:
        return []
    unit = f" instructions{' per op' if alone.per_op else ''}"
    told = [f"{text}{'' if n else unit} on {label}" for n, (label, text) in enumerate(added)]
    boots = max(len(cell.boots) for cell in model.cells)
    return [
        f"Waiting, with what it leads to, adds {units.listed(told)}: a model in which vCPUs take "
        f"turns at random places ({units.counted(boots, 'boot')})."
    ]


def _added(alone: Cell, model: Cell) -> str:
    """How much more, with its range over boots."""
    if alone.value is None or model.value is None:
        return ""
    each = sorted(value - alone.value for value in model.medians)
    if len(each) < 2:
        return f"{each[0]:,.0f}"
    return f"{model.value - alone.value:,.0f} ({each[0]:,.0f} to {each[-1]:,.0f})"
