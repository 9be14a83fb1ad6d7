"""Facts: what differs between the kernels of a comparison beside their code."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from profdiff.session.kernel_config import OptionDifference

# Words of a command line that name the kernel itself, or are drawn for each boot.
_OWN_NAME = ("BOOT_IMAGE=", "initrd=", "profdiff.settle=")
# What a machine says of itself that is the kernel's release or a path, or is not a state of it.
_UNCOMPARED = re.compile("kernel|release|perf|user|perf_event_max_sample_rate_after")


class Facts(msgspec.Struct, frozen=True):
    """Plain data by label, the base's first.

    ``compilers``, ``command_lines`` (the kernels') and ``machines`` (values by name) hold what is
    known, ``workloads`` what ran, of recordings that exist; ``config`` what differs between the
    configs of ``configs``; ``config_problems`` why a config could not be read. ``lost``: the part
    of the samples that was lost, 0 to 1, all runs together; only of sampled profiles.
    """

    compilers: Mapping[str, str] = msgspec.field(default_factory=dict)
    command_lines: Mapping[str, str] = msgspec.field(default_factory=dict)
    machines: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    workloads: Mapping[str, str] = msgspec.field(default_factory=dict)
    configs: Sequence[str] = ()
    config: Sequence[OptionDifference] = ()
    config_problems: Mapping[str, str] = msgspec.field(default_factory=dict)
    lost: Mapping[str, float] = msgspec.field(default_factory=dict)

    def differences(self) -> dict[str, dict[str, str | None]]:
        """Workload, compiler, command line, and what machines say of themselves, where known
        kernels do not have them alike: values by label, None where a kernel has none."""
        found: dict[str, dict[str, str | None]] = {}
        if len(set(self.workloads.values())) > 1:
            found["workload"] = dict(self.workloads)
        if len(set(self.compilers.values())) > 1:
            found["compiler"] = dict(self.compilers)
        if len(set(map(words, self.command_lines.values()))) > 1:
            found["command line"] = dict(self.command_lines)
        machines = self.machine_differences(list(self.machines))
        return found | {f"machine: {name}": values for name, values in machines.items()}

    def machine_differences(self, labels: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """What some kernels' machines say of themselves and do not have alike."""
        some = {label: self.machines[label] for label in labels if label in self.machines}
        found: dict[str, dict[str, str | None]] = {}
        for name in dict.fromkeys(name for own in some.values() for name in own):
            values = {label: own.get(name) for label, own in some.items()}
            if not _UNCOMPARED.fullmatch(name) and len(set(values.values())) > 1:
                found[name] = values
        return found


def words(line: str) -> str:
    """A command line without what names the kernel itself, or is drawn for each boot."""
    return " ".join(word for word in line.split() if not word.startswith(_OWN_NAME))
