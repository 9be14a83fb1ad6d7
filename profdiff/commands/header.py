"""``profdiff header``: where profdiff.h is."""

import click

from profdiff.collectors.initramfs import guest_resources


@click.command()
def header() -> None:
    """Print the folder of profdiff.h: cc -I"$(profdiff header)" ..."""
    click.echo(guest_resources())
