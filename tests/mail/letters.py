"""What the tests of mail share: a session, a letter about it, a thread."""

from pathlib import Path

from support import ROOT
from synthetic import compare, example, findings

from profdiff.findings import Findings
from profdiff.mail import content
from profdiff.mail.address import Address
from profdiff.mail.letter import Letter

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


def written(wishes: content.Wishes | None = None) -> Letter:
    """The letter about two made-up kernels."""
    return content.letter(found(), wishes or content.Wishes(command=["profdiff", "mail"]))
