"""The option that names probes, for each collector that can read them."""

import click

PROBE = click.Option(
    ["--probe"],
    multiple=True,
    metavar="'FUNCTION VARIABLE'",
    help="Record the values that a variable has where a function of the kernel begins, or what it "
    "returns ('FUNCTION return'). Can be given several times. Exact runs need QEMU 9 or later for "
    "it; probe runs, also of machines, Linux 6.6.",
)
