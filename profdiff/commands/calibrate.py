"""``profdiff calibrate``: prices of operations on this machine."""

from typing import TYPE_CHECKING

import click

from profdiff.base import units
from profdiff.commands.command import OUTPUT_FILE, command
from profdiff.commands.output import ASCII, WIDTH, write
from profdiff.reports.form import ReportOptions, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress

    from profdiff.collectors.calibration.prices import Price, Prices


@command()
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write the prices as JSON, profdiff.prices/1 (-: standard output).",
)
@WIDTH
@ASCII
def calibrate(output: str | None, width: int | None, ascii_only: bool) -> None:
    """Measure what single operations cost on this machine's processor: atomic instructions,
    returns and indirect branches, plain and through the thunks of mitigations, mispredicted
    branches, divisions, fences, system calls, page faults, repeated string instructions, and loads
    from each level of cache. x86-64 and arm64.

    calibrate takes a few seconds, and needs neither root nor a PMU. Its unit is the cycle. On a
    busy machine, or in a guest, prices vary: calibrate shows how much. report --prices FILE shows
    what the changes of a recording would cost at such prices.
    """
    from profdiff.collectors.calibration.measure import ROUNDS, measure
    from profdiff.collectors.calibration.prices import encoded

    progress = _progress()
    with progress:
        task = progress.add_task("measuring", total=ROUNDS)
        prices = measure(lambda rounds: progress.update(task, completed=rounds))
    if output:
        write(output, encoded(prices))
    if output != "-":
        asked = ReportOptions(width=width, ascii_only=ascii_only)
        write("-", text(asked, "-", lambda _, columns: _rendered(prices, columns)))


def _progress() -> "Progress":
    from rich.progress import BarColumn, Progress, TextColumn

    from profdiff.base.console import CleanConsole

    console = CleanConsole(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%")
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _rendered(prices: "Prices", width: int) -> str:
    from profdiff.collectors.calibration.prices import TOLD
    from profdiff.forms import text as form
    from profdiff.forms.columns import Column, draw

    columns = [Column(title) for title in ("minimum", "median", "75%", "")]
    rows = [
        [*_numbers(price), "noisy" if price.noisy else "", TOLD[price.name] + _size(price)]
        for price in prices.prices
        if price.name in TOLD
    ]
    title = f"cycles on {prices.title}, Linux {prices.kernel}"
    table = draw(title, [*columns, Column("operation", name=True)], rows, width)
    return "\n".join(form.lines([*table, *_notes(prices)], width)) + "\n"


def _numbers(price: "Price") -> list[str]:
    return [units.cycles(value) for value in (price.minimum, price.median, price.high)]


def _size(price: "Price") -> str:
    return f" ({price.size >> 10:,} KiB)" if price.size else ""


def _notes(prices: "Prices") -> "Iterator[str]":
    """What a reader must know of the numbers."""
    yield (
        f"A cycle is an addition in a chain of dependent ones: {prices.cycle_ns:.3g} ns here, in "
        "the median."
    )
    known = prices.by_name
    names = ("locked-xchg", "locked-among-loads", "locked-among-adds")
    if known.keys() >= {*names}:
        alone, loads, additions = (known[name].minimum for name in names)
        # Between these, a noisy machine is not to decide by 1% which word stands here.
        share = max(loads, additions) / alone if alone else 1
        passes = "passes" if share < 0.25 else "does not pass" if share > 0.75 else "partly passes"
        yield (
            f"Independent code {passes} an atomic instruction: an exchange takes "
            f"{units.cycles(alone)} cycles alone, and adds {units.cycles(loads)} to a chain of "
            f"loads and {units.cycles(additions)} to one of additions."
        )
    yield from prices.cautions
