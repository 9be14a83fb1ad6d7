"""Judged conditions as KernelCI's results database (KCIDB) takes them: checkouts, builds and tests.

The fields are those of its schema 5.3 (kernelci/kcidb-io, ``kcidb_io.schema.V5_3``), which the
tests ask. What is not known is left out. ``docs/kcidb.md`` explains the identifiers.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from profdiff import __version__
from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors import architecture
from profdiff.evidence.conditions.condition import Judgement
from profdiff.session.manifest import Kernel, Manifest, Run
from profdiff.session.parts import Parts
from profdiff.session.points import settings
from profdiff.session.session import Recording
from profdiff.session.suite import Suite, cell_names
from profdiff.views.judgements import sentence

# What a path in the tree of tests may hold, between its dots.
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_ORIGIN = re.compile(r"[a-z0-9_]+")
_BUILD = re.compile(r"[a-z0-9_]+:[^\0]+")
_VERSION = {"major": 5, "minor": 3}


class Submission(msgspec.Struct, frozen=True):
    """Who submits results. ``origin``: what KernelCI calls the CI system; ``builds``: by
    label, builds that KCIDB has already, of any origin."""

    origin: str
    builds: Mapping[str, str]

    @staticmethod
    def parse(origin: str | None, builds: Sequence[str]) -> "Submission | None":
        """What ``--origin`` and each ``--build LABEL=ID`` say; None without them. Raises
        InputError."""
        if origin is None:
            if builds:
                raise InputError("--build needs --origin NAME")
            return None
        if not _ORIGIN.fullmatch(origin):
            raise InputError(f"--origin {origin!r}: use lower-case letters, digits and _ only")
        named = {}
        for text in builds:
            label, equals, build = text.partition("=")
            if not (equals and label and _BUILD.fullmatch(build)):
                raise InputError(f"--build {text!r}: write LABEL=ORIGIN:ID, as KCIDB has the build")
            named[label] = build
        return Submission(origin, named)


class _Row(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    id: str
    origin: str
    comment: str = ""


class _Checkout(_Row, frozen=True, kw_only=True):
    git_commit_hash: str = ""
    git_commit_name: str = ""
    misc: dict[str, object] = {}


class _Build(_Row, frozen=True, kw_only=True):
    checkout_id: str
    architecture: str = ""
    compiler: str = ""
    status: str


class _Test(_Row, frozen=True, kw_only=True):
    build_id: str
    path: str
    status: str
    number: dict[str, object] = {}
    start_time: str = ""
    environment: dict[str, str] = {}
    misc: dict[str, object]


class _Place(msgspec.Struct, frozen=True):
    """Where a condition was judged: in which session, and what tests of it are called."""

    manifest: Manifest
    path: Sequence[str]


def render(recording: Recording, judgements: Sequence[Judgement], submission: Submission) -> bytes:
    """A test for each judgement, and the builds and checkouts that KCIDB does not have yet. Raises
    InputError for a label of ``submission.builds`` that was not judged, SessionError."""
    places = dict(_places(recording))
    checkouts: dict[str, _Checkout] = {}
    builds: dict[str, _Build] = {}
    tests: dict[str, _Test] = {}
    used: set[str] = set()
    for judgement in judgements:
        place = places[judgement.change.part]
        kernels = {one.label: one for one in place.manifest.compared}
        base, tested = place.manifest.compared[0], kernels[judgement.change.kernel]
        ids = []
        for kernel in (base, tested):
            used.add(kernel.label)
            known = submission.builds.get(kernel.label)
            if known is None:
                build, checkout = _build(kernel, place.manifest, submission.origin)
                builds[build.id], checkouts[checkout.id] = build, checkout
                known = build.id
            ids.append(known)
        test = _test(judgement, place, tested, ids, submission.origin)
        tests[test.id] = test
    for label in submission.builds:
        if label not in used:
            raise InputError(f"--build {label}=...: no kernel of this name was judged")
    document = {
        "version": _VERSION,
        "checkouts": list(checkouts.values()),
        "builds": list(builds.values()),
        "tests": list(tests.values()),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _places(recording: Recording) -> Iterator[tuple[str, _Place]]:
    """By what a change says of its place: of a suite each cell, or else each part."""
    if isinstance(recording, Suite):
        for workload, part, session in recording.recorded():
            manifest = session.manifest
            for name in cell_names(manifest, settings(manifest), workload.name, part):
                yield f"in {name}", _Place(manifest, [recording.stem, *name.split("/")])
        return
    for name, session in recording.sessions().items():
        where = recording.kind.at(name) if isinstance(recording, Parts) else ""
        yield where, _Place(session.manifest, [recording.stem, name])


def _build(kernel: Kernel, manifest: Manifest, origin: str) -> tuple[_Build, _Checkout]:
    """A kernel's build and checkout."""
    own = kernel.build_id or kernel.image_sha256 or _digest(manifest.created, kernel.label)
    release = units.printable(kernel.release or kernel.label)
    source = kernel.source
    if source is None:
        checkout = _Checkout(id=f"{origin}:{own}", origin=origin, comment=release)
    else:
        changed = source.built != source.commit
        checkout = _Checkout(
            id=f"{origin}:{source.tree}",
            origin=origin,
            # The schema has room for a SHA-1 only.
            git_commit_hash=source.commit if len(source.commit) == 40 else "",
            git_commit_name=units.printable(source.described),
            comment=units.printable(source.subject),
            misc={"tree": source.tree, "changed": changed, "patches": source.patches},
        )
    machines = [run.qemu.architecture for run in _runs(kernel, manifest) if run.qemu]
    known = architecture.named(next(filter(None, machines), "") or "")
    build = _Build(
        id=f"{origin}:{own}",
        origin=origin,
        checkout_id=checkout.id,
        comment=units.printable(kernel.version or release),
        architecture=known.arch if known else "",
        compiler=units.printable(kernel.compiler or ""),
        # It runs.
        status="PASS",
    )
    return build, checkout


def _test(
    judgement: Judgement, place: _Place, kernel: Kernel, ids: Sequence[str], origin: str
) -> _Test:
    """The row of a judgement on ``kernel``. ``ids``: the builds of the base and of that kernel."""
    condition, change = judgement.condition, judgement.change
    runs = _runs(kernel, place.manifest)
    started = min((run.started for run in runs), default="")
    told = str(condition)
    measured = math.isfinite(change.other)
    per_op = bool(change.ops) or condition.unit == "/op"
    found: dict[str, object] = {}
    if measured and change.differs is None:
        found["value"] = change.other / (change.ops or 1)
        unit = "/".join(filter(None, [change.unit, "op" if per_op else ""]))
        found |= {"unit": unit} if change.unit else {}
    words = [*place.path, change.at, condition.metric, "total" if condition.inclusive else ""]
    path = ["profdiff", *words, condition.what]
    status = {"holds": "FAIL", "does not hold": "PASS", "inconclusive": "DONE"}[judgement.outcome]
    return _Test(
        id=f"{origin}:{_digest(place.manifest.created, *path, change.where, told, started)}",
        origin=origin,
        build_id=ids[1],
        path=".".join(filter(None, (_FOREIGN.sub("_", word) for word in path))),
        comment=f"{units.printable(told)}: {sentence(judgement)}",
        # What was measured says nothing of the code; or a run of it failed.
        status=status if measured or status != "DONE" else "MISS",
        number=found,
        start_time=started,
        environment=_environment(runs),
        misc={"profdiff": __version__, "condition": units.printable(told), "base": ids[0]},
    )


def _environment(runs: Sequence[Run]) -> dict[str, str]:
    emulators = dict.fromkeys(units.printable(run.qemu.version) for run in runs if run.qemu)
    return {"comment": ", ".join(emulators)} if emulators else {}


def _runs(kernel: Kernel, manifest: Manifest) -> list[Run]:
    return [one for one in manifest.runs if one.kernel == kernel.label]


def _digest(*parts: str) -> str:
    # A folder's name need not be UTF-8.
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()
