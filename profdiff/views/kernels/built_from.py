"""What kernels were built from, and which could not be built."""

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.session import manifest as m
from profdiff.views.record import Record

_HASH = 12
# The most options of a config that a sentence names.
_OPTIONS = 3


class BuiltFrom(Record, frozen=True):
    """``commit``: of the revision that was named; ``described``: as ``git describe`` calls it.
    ``built``: the commit that was built, which has the changes. ``dirty``: with changes that
    nobody committed. ``lost``: options that are not as the config asks for them. ``sentence``: all
    of it in words."""

    repository: str
    commit: str
    described: str
    subject: str
    tree: str
    built: str
    dirty: bool
    patches: list[str]
    reverted: list[str]
    config: str
    compiler: str
    arch: str
    lost: list[str]
    sentence: str


class Hole(Record, frozen=True):
    """A kernel that could not be built. ``reason``: why."""

    label: str
    spec: str
    reason: str

    @property
    def sentence(self) -> str:
        """One printable line, without the label."""
        return units.printable(f"not built: {self.reason}")


def built_from(kernel: m.Kernel) -> BuiltFrom | None:
    """None of a kernel that profdiff did not build."""
    one = kernel.source
    if one is None:
        return None
    return BuiltFrom(
        repository=one.repository,
        commit=one.commit,
        described=one.described,
        subject=one.subject,
        tree=one.tree,
        built=one.built,
        dirty=one.dirty,
        patches=one.patches,
        reverted=one.reverted,
        config=one.config,
        compiler=one.compiler,
        arch=one.arch,
        lost=one.lost,
        sentence=sentence(one),
    )


def sentence(one: m.BuiltFrom) -> str:
    """``built from v6.16-3-g0123456789ab "mm: subject", dirty, with 0001-x.patch, without
    fedcba987654``: one printable line."""
    subject = f' "{one.subject}"' if one.subject else ""
    changed = [
        *(["dirty"] if one.dirty else []),
        *([f"with {', '.join(one.patches)}"] if one.patches else []),
        *([f"without {', '.join(h[:_HASH] for h in one.reverted)}"] if one.reverted else []),
        *([f"config {one.config}"] if one.config else []),
        *([f"which lacks {units.few(one.lost, _OPTIONS)}"] if one.lost else []),
    ]
    told = one.described or one.commit[:_HASH]
    return units.printable(", ".join([f"built from {told}{subject}", *changed]))


def holes(findings: Findings) -> list[Hole]:
    """The kernels of a session that could not be built, in its order."""
    return [hole(kernel) for kernel in findings.manifest.holes]


def hole(kernel: m.Kernel) -> Hole:
    """The hole that a kernel is."""
    return Hole(label=kernel.label, spec=kernel.spec, reason=kernel.hole)
