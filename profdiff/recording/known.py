"""What the experiments of one command have in common: found once, however many ask for it."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")


class Answers:
    """Answers by question. If two questions are equal, the second gets the first's answer."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, object] = {}

    def get(self, question: Hashable, find: Callable[[], T]) -> T:
        """The answer to ``question``, which names what it is of: found now, or before. Raises what
        ``find`` raises, which is not an answer."""
        if question not in self._answers:
            self._answers[question] = find()
        return cast(T, self._answers[question])
