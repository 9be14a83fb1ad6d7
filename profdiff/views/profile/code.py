"""How much code functions have, and whether they ran inlined."""

from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.inline_sites import code_sizes, inlining
from profdiff.session.session import Session
from profdiff.views.record import Record, by_label


class Code(Record, frozen=True):
    """Columns over the functions of an exact metric, by label. ``size``: bytes of a kernel
    function's code with what is inlined into it, None where that is not known; ``copies``: in how
    many places it ran inlined, ``called``: whether it ran by itself."""

    size: dict[str, list[int | None]]
    copies: dict[str, list[int]]
    called: dict[str, list[bool]]


def code(comparison: Comparison, session: Session | None) -> Code | None:
    """As the session keeps it; None where the counts are not exact."""
    if not class_names(comparison):
        return None
    labels = comparison.labels
    sizes, ran = code_sizes(comparison, session, kept=True).size, inlining(comparison)
    return Code(
        size=by_label(labels, ([one or None for one in column] for column in sizes.T.tolist())),
        copies=by_label(labels, ran.copies.T.tolist()),
        called=by_label(labels, ran.called.T.tolist()),
    )
