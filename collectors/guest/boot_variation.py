"""How one boot of an emulated guest differs from another, as boots of a machine do."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Variation:
    """``seed`` of the guest's random numbers; ``settle``: guest seconds between boot and workload,
    None for those of the recording."""

    seed: int = 1
    settle: float | None = None

    @staticmethod
    def drawn(seed: int, label: str, repetition: int, settle: float) -> "Variation":
        """The one of a kernel's repetition: boots are independent, as tests of them assume; what
        the base and its twin shared would be no noise."""
        random = Random(f"{seed}:{label}:{repetition}")  # noqa: S311
        # Less than a jiffy (10 ms at CONFIG_HZ=100) and more: ticks fall elsewhere.
        return Variation(random.randrange(1, 2**31), round(settle + random.uniform(0, 0.1), 6))

    def words(self, arguments: str) -> str:
        """Kernel arguments with what this boot is given; a varied one has user space randomised."""
        if self.settle is None:
            return arguments
        kept = [word for word in arguments.split() if word != "norandmaps"]
        return " ".join([*kept, f"profdiff.settle={self.settle}"])


NO_VARIATION = Variation()
