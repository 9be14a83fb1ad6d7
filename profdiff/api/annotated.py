"""A function's code, as a user asks for it: on the kernels, at the point and in the copy named."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.api import trees
from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.evidence.parts import PartsResults
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import chosen
from profdiff.profile.recordings import Recordings
from profdiff.reports.form import refuse_per_op
from profdiff.session import points
from profdiff.session.facts import Facts
from profdiff.session.manifest import Manifest
from profdiff.session.parts import Parts
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.views.annotation.making import Annotations
from profdiff.views.annotation.records import Annotation
from profdiff.views.parts.annotation import JointAnnotation, parts_annotation


class AnnotationRequest(NamedTuple):
    """What is annotated. ``sources``: as they are given."""

    function: str
    at: str | None
    metric: str | None
    inlined_at: str | None
    labels: Sequence[str]
    sources: Sequence[str]


def of_parts(opened: Parts, wanted: AnnotationRequest, *, per_op: bool | None) -> JointAnnotation:
    """The annotation of each part at one setting. Raises what the first part does, where none
    has the function."""
    sessions = opened.sessions()
    setting = PartsResults.gather(sessions, opened.kind).choose(wanted.at)
    found: dict[str, Annotation] = {}
    errors: dict[str, ProfdiffError] = {}
    for name, session in sessions.items():
        if name not in setting.parts:
            errors[name] = InputError("it does not have this point")
            continue
        try:
            found[name] = _found(session, wanted, setting.parts[name], per_op=per_op)
        except (InputError, SessionError) as error:
            errors[name] = error
    if not found:
        name, first = next(iter(errors.items()))
        raise type(first)(f"{name}: {first}")
    missing = {name: str(error) for name, error in errors.items()}
    missing |= {name: "not recorded yet" for name in opened.names if name not in sessions}
    return parts_annotation(opened.kind.name, list(opened.names), found, missing)


def of_session(opened: Session, wanted: AnnotationRequest, *, per_op: bool | None) -> Annotation:
    return _found(opened, wanted, _setting(opened.manifest, wanted.at), per_op=per_op)


def _found(
    opened: Session, wanted: AnnotationRequest, setting: Setting, *, per_op: bool | None
) -> Annotation:
    comparison = _comparison(opened, wanted, setting)
    if per_op and comparison.ops is None:
        refuse_per_op()
    for label in wanted.labels:
        trees.check_label(f"--kernel {label}", label, comparison.labels)
    given = trees.named(wanted.sources, comparison)
    own, untold = trees.own(opened, comparison, given)
    known = {**given, **own}
    found = Annotations(comparison, opened, known).annotation(
        wanted.function,
        inlined_at=_place(wanted.inlined_at, wanted.function),
        labels=list(dict.fromkeys(wanted.labels)) or None,
    )
    for label, tree in given.items():
        if label in found.labels:
            trees.check(tree, label, found)
    notes = [
        note for label, tree in known.items() if label in found.labels and (note := tree.note())
    ]
    notes += [note for label, note in untold.items() if label in found.labels]
    return replace(found, notes=[*found.notes, *notes])


def _comparison(session: Session, wanted: AnnotationRequest, setting: Setting) -> Comparison:
    # What differs between the kernels is shown by other commands, and reading it takes long.
    state = 0
    if any(run.state for run in session.manifest.runs):
        from profdiff.evidence.results import Results

        state = Results.gather(session.manifest).state(setting)
    comparisons = Recordings(session, setting, state).comparisons(Facts())
    return chosen({comparison.full_name: comparison for comparison in comparisons}, wanted.metric)


def _setting(manifest: Manifest, at: str | None) -> Setting:
    """As report chooses it; what compares metrics is loaded only where there are several."""
    known = points.settings(manifest)
    if len(known) == 1 and at is None:
        return known[0]
    from profdiff.evidence.findings import choose
    from profdiff.evidence.results import Results

    return choose(manifest, at, None if at else Results.gather(manifest))


def _place(text: str | None, function: str) -> str | None:
    """As ``views.annotations`` names it, of what one can type; a copy's line ends with the function
    itself."""
    if text is None:
        return None
    if not text.strip():
        raise InputError("--inlined-at: name the function that it is inlined into")
    for arrow in ("->", ">"):
        text = text.replace(arrow, "→")
    first, *others = (part.strip() for part in text.split("→"))
    if others and others[-1] == function:
        others.pop()
    return "→".join([first, *others])
