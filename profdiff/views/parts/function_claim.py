"""Under which compilers functions changed, in sentences: what is the algorithm's, and what is one
compiler's code."""

from collections.abc import Iterator, Mapping

from profdiff.base import units
from profdiff.views.parts.functions import JointFunction, JointFunctions
from profdiff.views.parts.verdicts import Extent, KernelExtents

_NAMES = 3
_LEADS: Mapping[Extent, str] = {
    "all": "Under all{} compilers",
    "one": "Only or mostly under one{} compiler, so that compiler's code and not the algorithm",
    "some": "Only or mostly under some{} compilers",
    "elsewhere": "No code under the other{} compilers, which may have it in other functions",
    "opposed": "More under some{} compilers and less under others",
    "unsure": "Not certain under all{} compilers",
}


def under(found: JointFunctions) -> str:
    """What a column of these words means; "" where there is none."""
    if not found.extents:
        return ""
    missing = list(dict.fromkeys(name for one in found.extents for name in one.unmeasured))
    lacks = f", of those that were measured (not {', '.join(missing)})" if missing else ""
    return f"changed under: the compilers under which the function's own count differs{lacks}"


def function_sentences(found: JointFunctions) -> list[str]:
    """A sentence for each extent that functions have, on each kernel but the base; none for
    architectures, and where nothing changed. Names are those of ``rows``."""
    several = len(found.extents) > 1
    return [
        units.printable(f"{f'{one.kernel}: ' if several else ''}{text}")
        for one in found.extents
        for text in _of_kernel(found, one)
    ]


def _of_kernel(found: JointFunctions, one: KernelExtents) -> Iterator[str]:
    for extent, lead in _LEADS.items():
        number = one.functions.get(extent, 0)
        if not number:
            continue
        rows = [row for row in found.rows if row.verdicts[one.kernel].extent == extent]
        names = [_named(row, one.kernel, extent) for row in rows[:_NAMES]]
        more = number - len(names)
        names += [f"{more:,} more" if names else _functions(more)] if more else []
        of = [
            f"{units.percent(shares.get(extent, 0.0))} under {part}"
            for part, shares in one.shares.items()
        ]
        measured = lead.format(" measured" if one.unmeasured else "")
        yield f"{measured}: {units.listed(names)} (of what differs: {', '.join(of)})."
    if one.unmeasured and one.functions:
        yield f"Not measured under {units.listed(one.unmeasured)}."


def _named(row: JointFunction, kernel: str, extent: Extent) -> str:
    verdict = row.verdicts[kernel]
    if extent not in ("one", "some", "elsewhere"):
        return row.title
    hardly = f"; hardly under {units.listed(verdict.hardly)}" if verdict.hardly else ""
    return f"{row.title} ({', '.join(verdict.under)}{hardly})"


def _functions(number: int) -> str:
    return units.counted(number, "function")
