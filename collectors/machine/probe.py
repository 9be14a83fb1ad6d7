"""Asks a machine for its environment: this one, or another over ssh."""

import subprocess
import time

from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.guest.channel import MEMBERS
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.machine.run import MachineRun
from profdiff.collectors.records import Failure

_SECONDS = 60.0


def environment_of(address: Address) -> Environment:
    """Raises MissingError when the machine cannot be reached, or its shell is of another kind."""
    script = guest_resources() / "environment.sh"
    if not address.host:
        result = subprocess.run(["sh", str(script)], capture_output=True, check=False)
        return Environment.parse(result.stdout.decode(errors="replace"))
    with temporary_folder() as folder:
        wrapper = b'mkdir -p "$1/out" && sh "$1/environment.sh" > "$1/out/environment"\n'
        run = MachineRun(
            address,
            script="doctor.sh",
            files={"doctor.sh": wrapper, "environment.sh": script.read_bytes()},
            programs={},
            folder=folder,
            timeout=_SECONDS,
        )
        while not run.poll():
            time.sleep(0.05)
        left = run.result(MEMBERS)
        if isinstance(left, Failure):
            raise MissingError(left.message)
        if "environment" not in left:
            raise MissingError(f"{address} reported nothing about itself")
        return Environment.parse((folder / "environment").read_text(errors="replace"))
