"""rich's console, which draws tables and progress, without what strangers' texts would do."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from profdiff.base.terminal import cleaned


class CleanConsole(Console):
    """A console whose texts are cleaned; what rich itself puts between them moves the cursor."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of ``renderable``, all that a terminal is sent."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(cleaned(segment.text), segment.style)
