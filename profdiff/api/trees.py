"""The source trees of kernels: what --source names, and what profdiff built the others from."""

from collections.abc import Mapping, Sequence

from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.units import printable
from profdiff.profile.comparison import Comparison
from profdiff.recording.origin import own_repository
from profdiff.session.session import Session
from profdiff.sources.sources import Sources
from profdiff.views.annotation.records import Annotation


def named(given: Sequence[str], comparison: Comparison) -> Mapping[str, Sources]:
    """The source tree of each kernel that ``LABEL=DIR`` or ``LABEL=REPO@REV`` names one for. Raises
    InputError."""
    trees: dict[str, Sources] = {}
    releases = {kernel.label: kernel.release for kernel in comparison.kernels}
    for text in given:
        label, equals, spec = text.partition("=")
        if not equals or not spec:
            raise InputError(f"--source {text}: write LABEL=DIR or LABEL=REPO@REV")
        check_label(f"--source {text}", label, comparison.labels)
        if label in trees:
            raise InputError(f"--source {text}: {label} is given twice")
        trees[label] = Sources.open(label, spec)
        if release := releases[label]:
            trees[label].check_release(release)
    return trees


def own(
    opened: Session, comparison: Comparison, given: Mapping[str, Sources]
) -> tuple[dict[str, Sources], dict[str, str]]:
    """What profdiff built the other kernels from; and why there is none, by label."""
    built = [
        (kernel.label, kernel.source)
        for kernel in comparison.kernels
        if kernel.source and kernel.label not in given
    ]
    trees, untold = {}, {}
    for label, source in built:
        option = f"--source {label}=REPO@{source.built[:12]}"
        try:
            place = own_repository(opened.folder, opened.manifest, source.repository, option)
            trees[label] = Sources.of_commit(label, place, source.built)
        except InputError as error:
            untold[label] = f"{label} has no source lines: {error}"
    return trees, untold


def check(tree: Sources, label: str, found: Annotation) -> None:
    """Raises InputError where a folder has no file of the function: it is not a source tree, or not
    the top of one."""
    files = {line.file for line in found.lines if line.file and label in line.lines}
    known = any(tree.lines(file) is not None for file in files)
    # All files of a function may be generated; then the Makefile identifies the tree.
    if files and not known and tree.lines("Makefile") is None:
        raise InputError(
            f"--source {label}={tree.shown}: there is no {printable(min(files))} in it: name the "
            "top of the tree that the kernel was built from"
        )


def check_label(option: str, label: str, labels: Sequence[str]) -> None:
    if label not in labels:
        near = did_you_mean(label, labels) or f"the session has {', '.join(labels)}"
        raise InputError(f"{option}: no kernel {label!r} has a result: {near}")
