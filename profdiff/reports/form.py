"""What every command's output forms have in common; their tables are in ``forms`` modules."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, NoReturn, TypeVar

from profdiff.base import terminal, units
from profdiff.base.errors import InputError, told
from profdiff.base.outputs import write_outputs
from profdiff.session.held import Held, refuse_recorded
from profdiff.topics.functions.selection import Selection


def write_files(files: Iterable[tuple[Path, str | bytes]], *, make_folders: bool = False) -> None:
    """Write files as ``write_outputs`` does. Raises InputError, also for what belongs to a
    recording."""
    try:
        write_outputs(_foreign(files), make_folders=make_folders)
    except OSError as error:
        raise InputError(f"cannot write {told(error)}") from error


def _foreign(files: Iterable[tuple[Path, str | bytes]]) -> Iterator[tuple[Path, bytes]]:
    for path, data in files:
        refuse_recorded(path)
        if isinstance(data, str):
            data = terminal.cleaned(data).encode(errors="backslashreplace")
        yield path, data


if TYPE_CHECKING:
    from profdiff.session.session import Recording

DEFAULT_TOP = 20

# Each kernel's label, and what makes its file.
Files = Sequence[tuple[str, Callable[[], bytes]]]
# What is reported: findings, an annotation, judgements.
Found = TypeVar("Found")


class Layout(NamedTuple):
    """How code is shown. ``context``: so many never-executed lines around an executed one;
    ``cold``: with the instructions that carry none of the cost."""

    by: Literal["instruction", "line"] = "instruction"
    context: int | None = None
    addresses: bool = False
    cold: bool = False


class ReportOptions(NamedTuple):
    """How it is to be shown. ``selection.top``: None where nothing was said of it; ``per_op``: None
    means where ops are known; ``width``: None means the terminal's; ``ratios``: changes as how many
    times the base; ``metric``: the only one that is shown, None for all."""

    selection: Selection = Selection()
    per_op: bool | None = None
    width: int | None = None
    ascii_only: bool = False
    ratios: bool = False
    metric: str | None = None
    layout: Layout = Layout()

    def for_text(self, target: str) -> "ReportOptions":
        """With a width, and a number of rows."""
        selection, width = self.selection, self.width
        if selection.top is None:
            selection = selection._replace(top=DEFAULT_TOP)
        width = width or (terminal.columns() if target == "-" else terminal.COLUMNS)
        return self._replace(selection=selection, width=width)


class Subject(NamedTuple, Generic[Found]):
    """What is reported, and how. Nothing is read before a form asks for it: ``find`` finds it,
    once."""

    recording: "Recording"
    find: Callable[[], Found]
    asked: ReportOptions = ReportOptions()


class Form(NamedTuple):
    """``--name``. ``render``: by what a recording may be, what makes the form of it, of a subject
    and a path or ``-``. Its text is cleaned before it is written; None: it has written all itself.
    ``takes``: what stands behind the option; where that may be left out, ``default(name)`` is the
    target ("": none is known). ``profile``: of a session, it shows one, which timed runs do not
    have. ``instead``: what to ask for of other recordings."""

    name: str
    help: str
    render: Mapping[Held, Callable[[Subject[Any], str], str | bytes | Files | None]]
    takes: Literal["FILE", "[FILE]", "DIR"] = "FILE"
    default: Callable[[str], str] | None = None
    profile: bool = False
    instead: str = ""


def text(asked: ReportOptions, target: str, render: Callable[[ReportOptions, int], str]) -> str:
    """Render the text at the requested width."""
    asked = asked.for_text(target)
    made = render(asked, asked.width or terminal.COLUMNS)
    return units.ascii_only(made) if asked.ascii_only else made


def refuse_per_op() -> NoReturn:
    """Raise InputError where counts are asked for per operation, and there is no number of them."""
    raise InputError("--per-op: the number of ops is unknown (record with --ops)")
