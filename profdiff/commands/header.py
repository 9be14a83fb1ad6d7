"""``profdiff header``: where profdiff.h is."""

import os

import click

from profdiff.collectors.initramfs import guest_resources
from profdiff.terminal import put


@click.command()
def header() -> None:
    """Print the folder of profdiff.h: cc -I"$(profdiff header)" ..."""
    put(os.fsencode(guest_resources()) + b"\n")
