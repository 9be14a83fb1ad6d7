"""The boot as a workload: what the guest runs once it has booted, and what cannot be asked for."""

from collections.abc import Mapping
from typing import Any

from profdiff.base.errors import InputError
from profdiff.collectors.guest.initramfs import BUSYBOX_GUEST_PATH
from profdiff.collectors.workload.workload import PreparedWorkload

COMMAND = ("boot",)
"""What stands for the command in a session."""

# Of what --boot-until gives, in characters.
_LONGEST = 100

# By option: what a boot cannot have.
_REFUSED = {
    "sweep": "--sweep",
    "difference": "--difference",
    "ops": "--ops",
    "op": "--op",
    "files": "--file",
    "vary_state": "--vary-state",
    "suite": "--suite",
    "variants": "--variant",
}


def refuse(options: Mapping[str, Any]) -> None:
    """Raise InputError for options of a workload that a boot does not have."""
    until = options["boot_until"]
    if until is not None and not (until.isprintable() and until.strip() and len(until) <= _LONGEST):
        raise InputError(
            f"--boot-until: give 1 to {_LONGEST} printable characters of one line of the console"
        )
    if options["command"]:
        raise InputError(
            "--boot records no COMMAND: the boot is the workload: leave one of them out"
        )
    for name, told in _REFUSED.items():
        if options[name]:
            raise InputError(f"--boot and {told}: a boot is one workload: leave one of them out")
    if others := [name for name in options["collectors"] or () if name != "exact"]:
        raise InputError(f"--boot: only exact counts know a boot: leave {' and '.join(others)} out")
    if options["restore"]:
        raise InputError("--boot and --restore: a restored machine does not boot: leave one out")
    if list(options["cpus"]) != [1] or options["copies"] != 1:
        raise InputError("--boot: guests that boot have one vCPU: leave --cpus and --copies out")


def workload() -> PreparedWorkload:
    """What runs behind the window, so that a guest ends as with any workload."""
    return PreparedWorkload(COMMAND, (BUSYBOX_GUEST_PATH, "true"), "program", has_marks=False)
