"""What a kernel's guest is given otherwise than those of other kernels."""

from profdiff.session.manifest import Kernel
from profdiff.views.record import Record


class Variant(Record, frozen=True):
    """``append``: boot arguments behind those of all kernels, "" for none; of the others, null is
    what all have. ``program``: what it runs where sides are programs, "" for what all run.
    ``words``: all of it, ``memory=2048M`` and so on."""

    append: str
    memory_mib: int | None
    cpus: int | None
    cpu: str | None
    program: str
    words: list[str]


def variant(kernel: Kernel) -> Variant:
    """That of a kernel."""
    one = kernel.variant
    return Variant(
        append=one.append,
        memory_mib=one.memory,
        cpus=one.cpus,
        cpu=one.cpu,
        program=one.program,
        words=one.words,
    )
