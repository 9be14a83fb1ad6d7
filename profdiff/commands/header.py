"""``profdiff header``: where profdiff.h is."""

import os

from profdiff.base.terminal import put
from profdiff.commands.command import command


@command()
def header() -> None:
    """Print the folder of profdiff.h: cc -I"$(profdiff header)" ..."""
    from profdiff.collectors.guest.initramfs import guest_resources

    put(os.fsencode(guest_resources()) + b"\n")
