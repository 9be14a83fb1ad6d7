"""The commits that blame names: suspects by their lines, which nobody has bisected."""

from profdiff.base import units
from profdiff.forms.numbers import Numbers
from profdiff.mail.letter import WIDTH, Section, Table
from profdiff.reports.blame.text import DIGITS
from profdiff.views.blame import Blame

# With the line above, five lines.
_MOST = 4
# The smallest part of the delta; nobody looks below it.
_LEAST = 0.01


def section(blame: Blame | None) -> Section:
    """The largest commits, if there are any; never a trailer, which needs a bisection."""
    if blame is None:
        return Section("", [])
    least = _LEAST * abs(blame.delta)
    commits = [row for row in blame.rows if row.commit and abs(row.effect) > least]
    if not commits:
        return Section("", [])
    numbers = Numbers(blame.ops)
    shown = commits[:_MOST]
    deltas = [numbers.delta(row.effect) for row in shown]
    shares = [units.share(row.effect, blame.delta) for row in shown]
    rows = []
    for row, delta, share in zip(shown, deltas, shares, strict=True):
        start = f"  {delta:>{max(map(len, deltas))}}  {share:>{max(map(len, shares))}}"
        commit = f"{start}  {(row.commit or '')[:DIGITS]}"
        subject = units.printable(row.subject)
        rows.append(f'{commit} ("{units.ended(subject, max(WIDTH - len(commit) - 5, 8))}")')
    each = " per op" if blame.ops else ""
    head = f"Suspects by lines, not bisected (instructions{each}, share of the delta):"
    return Section("", [Table([head], rows)])
