"""A guest that is to be booted: its kernel, its machine, and how its boot differs from another."""

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from profdiff.collectors.guest.varied_state import VariedState

# Reproducible: no address space randomisation, and a panic ends the guest at once. All else is what
# the kernel does by itself.
BASE_APPEND = "nokaslr norandmaps panic=-1"


@dataclass(frozen=True)
class Variation:
    """``seed`` of the guest's random numbers; ``settle``: guest seconds between boot and workload,
    None for those of the recording. ``state``: a varied one, None for the plain one."""

    seed: int = 1
    settle: float | None = None
    state: VariedState | None = None

    @staticmethod
    def drawn(seed: int, label: str, repetition: int, settle: float) -> "Variation":
        """The one of a kernel's repetition: boots are independent, as tests of them assume; what
        the base and its twin shared would be no noise."""
        return Variation._drawn(f"{seed}:{label}:{repetition}", settle)

    @staticmethod
    def of_state(seed: int, number: int, settle: float) -> "Variation":
        """The one of varied state ``number``: the same for all kernels, which are compared in
        it."""
        varied = Variation._drawn(f"{seed}:varied state {number}", settle)
        return replace(varied, state=VariedState.drawn(seed, number))

    @staticmethod
    def _drawn(seed: str, settle: float) -> "Variation":
        random = Random(seed)  # noqa: S311
        # Less than a jiffy (10 ms at CONFIG_HZ=100) and more: ticks fall elsewhere.
        return Variation(random.randrange(1, 2**31), round(settle + random.uniform(0, 0.1), 6))

    def files(self) -> dict[str, bytes]:
        """What lies beside the agent because of it, by name."""
        return {"varied-state": self.state.content()} if self.state else {}

    def words(self, arguments: str) -> str:
        """Kernel arguments with what this boot is given; a varied one has user space randomised."""
        if self.settle is None:
            return arguments
        kept = [word for word in arguments.split() if word != "norandmaps"]
        return " ".join([*kept, f"profdiff.settle={self.settle}"])


NO_VARIATION = Variation()


@dataclass(frozen=True)
class Boot:
    """``append``: kernel arguments behind profdiff's own; ``memory`` in MiB."""

    image: Path
    initramfs: Path
    append: str
    memory: int
    cpus: int
    variation: Variation = NO_VARIATION

    def command_line(self, console: str) -> str:
        """The kernel's."""
        own = self.variation.words(f"console={console} {BASE_APPEND}")
        return f"{own} {self.append}".strip()
