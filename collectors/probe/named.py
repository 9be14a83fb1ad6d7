"""What a user asks of a probe: a function, and which of its variables."""

import re
from typing import NamedTuple

from profdiff.base.errors import InputError

_RETURN = "return"
_PROBE = re.compile(r"([A-Za-z_][\w.]{0,255})\s+([A-Za-z_]\w{0,255})", re.ASCII)


class Probe(NamedTuple):
    """A function, and the variable that is read where it begins. ``return``, which no variable of C
    can have as its name, stands for what the function returns."""

    function: str
    variable: str

    @staticmethod
    def parse(text: str) -> "Probe":
        """``FUNCTION VARIABLE``. Raises InputError."""
        match = _PROBE.fullmatch(text.strip())
        if not match:
            raise InputError(
                f"--probe {text!r}: give a function and one of its variables, such as "
                "'prot_commit_flush_ptes nr_ptes', or 'return'"
            )
        return Probe(match[1], match[2])

    def __str__(self) -> str:
        return f"{self.function} {self.variable}"

    @property
    def words(self) -> str:
        """As a sentence says it."""
        return (
            f"what {self.function} returns"
            if self.returns
            else f"{self.variable} of {self.function}"
        )

    @property
    def returns(self) -> bool:
        """Whether it is what the function returns that is read."""
        return self.variable == _RETURN
