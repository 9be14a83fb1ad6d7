"""``profdiff header``: where profdiff.h is."""

import os

import click

from profdiff.base.terminal import put


@click.command()
def header() -> None:
    """Print the folder of profdiff.h: cc -I"$(profdiff header)" ..."""
    from profdiff.collectors.guest.initramfs import guest_resources

    put(os.fsencode(guest_resources()) + b"\n")
