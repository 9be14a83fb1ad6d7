"""Facts: what differs between the kernels of a comparison beside their code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from profdiff.session.kernel_config import OptionDifference

_NAMED = 3
# Words of a command line that name the kernel itself, or are drawn for each boot.
_OWN_NAME = ("BOOT_IMAGE=", "initrd=", "profdiff.settle=")
# What a machine says of itself that is the kernel's release or a path, or is no state of it.
_UNCOMPARED = {"kernel", "release", "perf", "user", "perf_event_max_sample_rate_after"}


@dataclass(frozen=True)
class Difference:
    """``what`` differs between kernels; ``values`` by label, None where a kernel has none."""

    what: str
    values: Mapping[str, str | None]


@dataclass(frozen=True)
class Facts:
    """Plain data by label, the base's first.

    ``compilers``, ``command_lines`` (the kernels') and ``machines`` (values by name) hold what is
    known; ``config`` what differs between the configs of ``configs``; ``config_problems`` why a
    config could not be read. ``lost``: the part of the samples that was lost, 0 to 1, all runs
    together; only of sampled profiles.
    """

    compilers: Mapping[str, str] = field(default_factory=dict)
    command_lines: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    configs: Sequence[str] = ()
    config: Sequence[OptionDifference] = ()
    config_problems: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, float] = field(default_factory=dict)

    def differences(self) -> list[Difference]:
        """Compiler, command line, and what machines say of themselves, where known kernels do not
        have them alike."""
        found = []
        if len(set(self.compilers.values())) > 1:
            found.append(Difference("compiler", dict(self.compilers)))
        if len(set(map(_words, self.command_lines.values()))) > 1:
            found.append(Difference("command line", dict(self.command_lines)))
        names = dict.fromkeys(name for own in self.machines.values() for name in own)
        for name in names:
            values = {label: own.get(name) for label, own in self.machines.items()}
            if name not in _UNCOMPARED and _differ(values.values()):
                found.append(Difference(f"machine: {name}", values))
        return found

    def summaries(self, labels: Sequence[str], named: int = _NAMED) -> list[str]:
        """One line for each kernel but the base: config, compiler, command line and machine
        against the base's; nothing for kernels of which nothing is known. ``labels``: the base's
        first; ``named``: how many config options are told, not only counted. The texts come from
        recordings: units.printable is the caller's."""
        lines = []
        for label in labels[1:]:
            parts = [
                self._config(labels[0], label, named),
                _same("compiler", self.compilers, labels[0], label),
                _same("command line", self.command_lines, labels[0], label),
                self._machine(labels[0], label),
            ]
            told = [part for part in parts if part]
            line = "; ".join(told)
            if told and all(part.startswith("same ") for part in told):
                line = f"nothing that is known ({', '.join(told)})"
            if line:
                lines.append(f"{label}: {line}" if len(labels) > 2 else line)
        return lines

    def _config(self, base: str, label: str, named: int) -> str:
        for one in (base, label):
            if one in self.config_problems:
                return f"config of {one}: {self.config_problems[one]}"
        unknown = [one for one in (base, label) if one not in self.configs]
        if unknown:
            # Nothing at all is known of imported text: silence says as much.
            return f"config of {' and '.join(unknown)} unknown" if self.configs else ""
        found = [pair for one in self.config if (pair := one.between(base, label))]
        if not found:
            return "same config"
        differ = [one for one in found if one.everywhere]
        relevant = [one for one in found if one.relevant]
        told = f"config: {_number(len(differ), 'option differs', 'options differ')}"
        if len(found) > len(differ):
            told += f", {len(found) - len(differ):,} in one config only"
        if not relevant:
            return f"{told} (none relevant)"
        if not named:
            return f"{told} ({len(relevant):,} relevant)"
        first = [_change(one, base, label) for one in relevant[:named]]
        more = [f"{len(relevant) - named:,} more"] if len(relevant) > named else []
        return f"{told} ({len(relevant):,} relevant: {', '.join(first + more)})"

    def _machine(self, base: str, label: str) -> str:
        if base not in self.machines or label not in self.machines:
            return ""
        pair = Facts(machines={one: self.machines[one] for one in (base, label)})
        names = [one.what.removeprefix("machine: ") for one in pair.differences()]
        if not names:
            return "same machine"
        more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
        return f"machine: {', '.join(names[:_NAMED] + more)} differ{'s' if len(names) == 1 else ''}"


def _change(one: OptionDifference, base: str, label: str) -> str:
    values = [one.values[at] or "absent" for at in (base, label)]
    return f"{one.option.removeprefix('CONFIG_')} {values[0]} -> {values[1]}"


def _number(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _words(line: str) -> str:
    return " ".join(word for word in line.split() if not word.startswith(_OWN_NAME))


def _differ(values: Iterable[str | None]) -> bool:
    # An older kernel does not list vulnerabilities that it does not know; where the other one is
    # not affected, that is no difference.
    return len({value or "Not affected" for value in values}) > 1


def _same(what: str, values: Mapping[str, str], base: str, label: str) -> str:
    if base not in values or label not in values:
        return ""
    same = _words(values[base]) == _words(values[label])
    return f"same {what}" if same else f"{what} differs"
