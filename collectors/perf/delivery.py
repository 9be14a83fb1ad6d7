"""What a script that starts perf finds beside it, and what is said where perf does not start."""

from collections.abc import Sequence

from profdiff.collectors.guest.initramfs import guest_resources, nul_separated
from profdiff.collectors.perf.command import refusal_line
from profdiff.collectors.records import Failure


def files(attempts: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """Arguments of perf as ``attempt.N`` from 1 on, best first, and what asks for the facts."""
    numbered = enumerate(attempts, 1)
    found = {f"attempt.{number}": nul_separated(one) for number, one in numbered}
    return found | {"environment.sh": (guest_resources() / "environment.sh").read_bytes()}


def refused(verb: str, complaint: bytes) -> Failure:
    """Why perf cannot ``verb`` there, by what it wrote; nothing where there is no perf."""
    why = refusal_line(complaint.decode(errors="replace"))
    missing = "perf is missing: install linux-perf there, or your distribution's package"
    message = f"perf cannot {verb} there: {why}" if why else missing
    return Failure("perf", f"{message} (profdiff doctor says what is missing)")
