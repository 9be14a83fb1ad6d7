"""Facts: what differs between the kernels of a comparison beside their code."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from profdiff.collectors.records import NO_VARIANT, Variant
from profdiff.session import variants
from profdiff.session.kernel_config import OptionDifference

# By option of a SPEC, how the options of a config begin that follow from it.
_SET_BY = {
    "opt": ("CONFIG_CC_OPTIMIZE_FOR_",),
    "lto": ("CONFIG_LTO_",),
    "cfi": ("CONFIG_CFI",),
    "autofdo": ("CONFIG_AUTOFDO_",),
}
# Words of a command line that name the kernel itself, or are drawn for each boot.
_OWN_NAME = ("BOOT_IMAGE=", "initrd=", "profdiff.settle=")
# What a machine says of itself that is the kernel's release or a path, or is not a state of it.
_UNCOMPARED = re.compile("kernel|release|perf|user|perf_event_max_sample_rate_after")


class Facts(msgspec.Struct, frozen=True):
    """Plain data by label, the base's first.

    ``compilers``, ``command_lines`` (the kernels') and ``machines`` (values by name) hold what is
    known, ``workloads`` what ran, of recordings that exist; ``config`` what differs between the
    configs of ``configs``; ``config_problems`` why a config could not be read. ``variants``: what
    guests were given (``session.variants``); ``settings``: which options of their configs were to
    be otherwise, ``CONFIG_X=y``; ``built``: how the SPECs say that code is made, in words
    (``BuiltFrom.options``). ``lost``: the part of the samples that was lost, 0 to 1, all runs
    together; only of sampled profiles.
    """

    compilers: Mapping[str, str] = msgspec.field(default_factory=dict)
    command_lines: Mapping[str, str] = msgspec.field(default_factory=dict)
    machines: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    workloads: Mapping[str, str] = msgspec.field(default_factory=dict)
    configs: Sequence[str] = ()
    config: Sequence[OptionDifference] = ()
    config_problems: Mapping[str, str] = msgspec.field(default_factory=dict)
    variants: Mapping[str, Variant] = msgspec.field(default_factory=dict)
    settings: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)
    built: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)
    lost: Mapping[str, float] = msgspec.field(default_factory=dict)

    def differences(self) -> dict[str, dict[str, str | None]]:
        """Workload, compiler, command line, and what machines say of themselves, where known
        kernels do not have them alike: values by label, None where a kernel has none. What was
        asked for is none of them."""
        found: dict[str, dict[str, str | None]] = {}
        if len(set(self.workloads.values())) > 1:
            found["workload"] = dict(self.workloads)
        if any(self.compiler_differs(base, label) for base, label in pairwise(self.compilers)):
            found["compiler"] = dict(self.compilers)
        if len(set(map(self.plain_line, self.command_lines))) > 1:
            found["command line"] = dict(self.command_lines)
        machines = self.machine_differences(list(self.machines))
        return found | {f"machine: {name}": values for name, values in machines.items()}

    def intended(self, base: str, label: str) -> list[str]:
        """What a kernel was to differ from the base in, in words."""
        known = self.settings.get(base, ())
        own = (one for one in self.settings.get(label, ()) if one not in known)
        return [
            *(one.removeprefix("CONFIG_") for one in own),
            *variants.differences(self.variants, base, label),
            *variants.built_otherwise(self.built, base, label),
        ]

    def compiler_differs(self, base: str, label: str) -> bool:
        """Whether it does where no ``cc=`` asked for that."""
        asked = variants.built_otherwise(self.built, base, label)
        is_asked = any(word.removeprefix("without ").startswith("cc=") for word in asked)
        return self.compilers[base] != self.compilers[label] and not is_asked

    def is_asked_for(self, option: str, base: str, label: str) -> bool:
        """Whether an option of the config differs because a SPEC's ``lto=`` or the like does."""
        asked = variants.built_otherwise(self.built, base, label)
        names = {word.removeprefix("without ").partition("=")[0] for word in asked}
        return any(option.startswith(start) for name in names for start in _SET_BY.get(name, ()))

    def plain_line(self, label: str) -> str:
        """A known command line without what names the kernel itself, is drawn for each boot, or was
        given to this kernel alone."""
        line = words(self.command_lines[label])
        return variants.without(line, self.variants.get(label, NO_VARIANT))

    def machine_differences(self, labels: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """What some kernels' machines say of themselves and do not have alike."""
        some = {label: self.machines[label] for label in labels if label in self.machines}
        found: dict[str, dict[str, str | None]] = {}
        for name in dict.fromkeys(name for own in some.values() for name in own):
            values = {label: own.get(name) for label, own in some.items()}
            if _UNCOMPARED.fullmatch(name) or len(set(values.values())) < 2:
                continue
            given = {label: own for label, own in self.variants.items() if label in some}
            if not variants.is_consequence(name, given):
                found[name] = values
        return found


def words(line: str) -> str:
    """A command line without what names the kernel itself, or is drawn for each boot."""
    return " ".join(word for word in line.split() if not word.startswith(_OWN_NAME))
