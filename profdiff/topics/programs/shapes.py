"""What is shown of programs: where they and the kernel execute, and user space by function.
``docs/programs.md`` explains it."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.shapes.table import (
    Cells,
    Section,
    Table,
    by_figure,
    by_group,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.inventory.shapes import of_items
from profdiff.topics.programs.measure import Programs, Row
from profdiff.topics.sentences import told_kernels

_ALIKE = (
    "Alike: kernel, machine, arguments, the program's path in the guest, and bytes of environment. "
    "Each program's own are its files, the libraries that these need, and so what ld.so does."
)
# Per op; what is below shows as nothing.
_LEAST = 0.005
_TIMES = (
    "times: how often a system call was made, or a fault taken; other kernel code: entries and "
    "exits of all of them, and what begins and ends the program."
)
_KERNEL = (
    "kernel: what the kernel executed when it was entered from the function, in system calls and "
    "faults."
)


def section(findings: Findings) -> Section:
    """Raises what ``summary`` does."""
    programs = _programs(findings)
    tables = [_parts(programs), _functions(programs), _accesses(findings)]
    return replace(_summary(programs), tables=tables)


def summary(findings: Findings) -> Section:
    """The first table alone. Raises InputError where sides are not programs, or were not
    counted."""
    return _summary(_programs(findings))


def _programs(findings: Findings) -> Programs:
    if not any(kernel.variant.program for kernel in findings.manifest.compared):
        raise InputError("the session compares no programs: record with --variant")
    if findings.exact is None:
        raise InputError("programs are compared by exact counts: record with --collector exact")
    return Programs(findings.exact, findings.session)


def _summary(programs: Programs) -> Section:
    return Section(
        name="programs",
        title="Programs",
        sentences=sentences(programs),
        tables=[_parts(programs)],
        notes=[" ".join([*programs.limits, _ALIKE])],
    )


def sentences(programs: Programs) -> list[str]:
    """How user space and the kernel change, for each side but the base."""
    user, kernel = programs.total("user"), programs.total("kernel")
    ops = programs.comparison.ops or 1
    each = " per op" if programs.comparison.ops else ""

    def told(counts: list[int], at: int) -> str:
        delta = units.delta((counts[at] - counts[0]) / ops, per_op=ops > 1)
        known = counts[0] > 0 and counts[at] >= 0
        change = f" ({units.change(counts[0], counts[at])})" if known else ""
        return f"{delta} instructions{each}{change}"

    return [
        units.printable(
            f"{programs.labels[at]}: {told(user, at)} in user space, and {told(kernel, at)} in the "
            f"kernel, against {programs.labels[0]}."
        )
        for at in told_kernels(programs.labels)
    ]


def _parts(programs: Programs) -> Table:
    labels, at = programs.labels, {label: n for n, label in enumerate(programs.labels)}
    parts = programs.parts
    sums = [
        Row("all", "user", programs.total()),
        Row("user space", "user", programs.total("user")),
        Row("kernel", "kernel", programs.total("kernel")),
    ]
    about: dict[str, Any] = {"name": "programs", "kernels": labels, "ops": programs.comparison.ops}
    return tabulate(
        [
            *by_figure(labels, "self", lambda row, k: row.self[at[k]], "delta", "change"),
            *(
                of_kernel(
                    label,
                    "times",
                    "count",
                    lambda row, k: row.times[at[k]] if row.times else "",
                    title="times",
                    spare=1,
                )
                for label in labels
            ),
            of_row("part", "name", lambda row: row.name, title="where"),
            of_row("side", "detail", lambda row: row.side),
        ],
        title="instructions of programs, and of the kernel for them",
        rows=parts,
        sums=sums,
        by_kernel=False,
        least=_LEAST,
        measures=["self"],
        notes=[_TIMES] if any(row.times for row in parts) else [],
        **about,
    )


def _functions(programs: Programs) -> Table:
    labels, at = programs.labels, {label: n for n, label in enumerate(programs.labels)}

    def figure(name: str, counts: Callable[[Row], Sequence[int]]) -> list[Cells]:
        def difference(row: Row, label: str) -> Difference:
            delta = counts(row)[at[label]] - counts(row)[0]
            return Difference(delta, delta, delta, Verdict.EXACT)

        return by_group(labels, name, lambda row, k: counts(row)[at[k]], difference, title=name)

    return tabulate(
        [
            *figure("self", lambda row: row.self),
            *figure("kernel", lambda row: row.kernel),
            of_row("function", "name", lambda row: row.name),
            of_row("object", "name", lambda row: row.object, title="in"),
        ],
        name="programs-functions",
        title="user space by function, inlined ones too",
        kernels=labels,
        ops=programs.comparison.ops,
        rows=programs.functions,
        by_kernel=False,
        grouped=True,
        limit="rest",
        least=_LEAST,
        measures=["self", "kernel"],
        notes=[_KERNEL],
    )


def _accesses(findings: Findings) -> Table:
    inventory = Inventory(findings)
    named = [row for name in ("loads", "stores") for row in inventory.named(name, "user", "")]
    return of_items(inventory, named, name="programs-accesses", title="user space's accesses")
