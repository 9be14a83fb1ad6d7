"""What the tests of mail share: a session, a letter about it, a thread."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from support import ROOT
from synthetic import compare, example, findings, manifest

from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.mail import content
from profdiff.mail.address import Address
from profdiff.mail.letter import Letter
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.points import settings
from profdiff.session.state import State

THREAD = Path(__file__).parent / "thread.mbox"
SOURCE = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"
RILEY = Address("Riley Reporter", "riley@example.org")
ROOT_ID = "<20261102080000.12345-1-jirina@kernel.example.org>"
NEWEST_ID = (
    "<a-quite-long-message-id-of-more-than-seventy-eight-characters-1234567890abcdef"
    "@mail.example.de>"
)


def found() -> Findings:
    """Two kernels, one failed run."""
    return findings([compare(example(), ops=40_000, failed=["new"])])


def written(wishes: content.MailOptions | None = None) -> Letter:
    """The letter about two made-up kernels."""
    return content.letter(found(), wishes or content.MailOptions(command=["profdiff", "mail"]))


def timed(
    values: Mapping[str, Sequence[Sequence[float]]],
    *,
    metrics: Sequence[m.Measured] = (m.Measured("latency", "ns/call", "lower", False, [1.0]),),
    sizes: Sequence[str] = ("400",),
    qemu: m.Qemu | None = None,
    collector: m.Collector = "timed",
    ops: int | None = None,
) -> Findings:
    """What timed runs found: by label and size, the value of each boot. Several ``metrics`` have
    the same values."""
    plain = manifest(list(values))
    runs = [
        m.replace(
            plain.runs[0],
            id=f"{label}-{point}-{number}",
            kernel=label,
            collector=collector,
            point=point,
            repetition=number,
            started=f"2026-11-20T22:{number:02}:00Z",
            qemu=qemu,
            measured=[m.replace(metric, values=[value]) for metric in metrics],
        )
        for label, by_size in values.items()
        for point, boots in enumerate(by_size)
        for number, value in enumerate(boots, 1)
    ]
    described = m.replace(
        plain,
        collectors=[collector],
        repeat=max(len(boots) for by_size in values.values() for boots in by_size),
        points=[m.Point({"size": size}, 1, ops) for size in sizes],
        kernels=[
            m.replace(one, twin_of="base") if one.label.endswith(".aa") else one
            for one in plain.kernels
        ],
        twin_repeat=len(values.get("base.aa", [[]])[0]),
        runs=runs,
    )
    last = settings(described)[-1]
    return Findings(described, last, [], Results.gather(described), State(), Facts())
