"""What was recorded, as rows: kernels, and runs."""

from collections.abc import Iterator

from profdiff.session.manifest import Manifest
from profdiff.views.kernels.machine import guest_arch
from profdiff.views.record import Record


class KernelRow(Record, frozen=True):
    """A kernel that was compared; None is unknown. ``arch``: of the guest that it ran in.
    ``commit`` and what follows it: of the source that profdiff built it from. ``described``: what
    ``git describe`` calls the commit; ``built``: the commit that was built, which is another one
    where patches or other changes are on top; ``tree``: that one's; ``patches``: their names."""

    label: str
    spec: str
    release: str | None
    version: str | None
    compiler: str | None
    build_id: str | None
    image_sha256: str | None
    arch: str | None
    commit: str | None
    described: str | None
    subject: str | None
    built: str | None
    tree: str | None
    patches: str | None


class RunRow(Record, frozen=True):
    """A run, finished or not. ``state``: the varied state that it ran in, 0 for the plain one;
    ``started``: when, in UTC. ``failure``: of which kind, and ``why``; None of a run that has a
    result. ``qemu``: the version line of its emulator, None without one; ``node``: of a cluster."""

    id: str
    kernel: str
    collector: str
    parameters: dict[str, str]
    vcpus: int | None
    repetition: int
    state: int
    started: str
    wall_seconds: float
    failure: str | None
    why: str | None
    qemu: str | None
    node: str | None


def kernel_rows(manifest: Manifest) -> Iterator[KernelRow]:
    """The base first."""
    for kernel in manifest.compared:
        source = kernel.source
        yield KernelRow(
            label=kernel.label,
            spec=kernel.spec,
            release=kernel.release,
            version=kernel.version,
            compiler=kernel.compiler,
            build_id=kernel.build_id,
            image_sha256=kernel.image_sha256,
            arch=guest_arch(run for run in manifest.runs if run.kernel == kernel.label),
            commit=source.commit if source else None,
            described=source.described if source else None,
            subject=source.subject if source else None,
            built=source.built if source else None,
            tree=source.tree if source else None,
            patches=", ".join(source.patches) if source else None,
        )


def run_rows(manifest: Manifest) -> Iterator[RunRow]:
    """As they ended."""
    for run in manifest.runs:
        point, failure = manifest.points[run.point], run.failure
        yield RunRow(
            id=run.id,
            kernel=run.kernel,
            collector=run.collector,
            parameters=dict(point.parameters),
            vcpus=point.cpus,
            repetition=run.repetition,
            state=run.state,
            started=run.started,
            wall_seconds=run.wall_seconds,
            failure=failure.kind if failure else None,
            why=failure.message if failure else None,
            qemu=run.qemu.version if run.qemu else None,
            node=run.node.host if run.node else None,
        )
