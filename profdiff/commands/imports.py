"""``profdiff import`` and ``profdiff diff``: recordings that exist as files.

Recordings that come through a pipe, which can be read only once.
"""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.outputs import place_of
from profdiff.base.terminal import say, tell
from profdiff.commands.command import OUTPUT_FOLDER, command
from profdiff.commands.output import Output, output_options, refuse_inputs, with_options
from profdiff.reports.form import Subject
from profdiff.reports.forms import FORMS

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings
    from profdiff.profile.importing import GivenRecording, Imported


_FILES = [
    click.option(
        "--vmlinux",
        "vmlinuxes",
        multiple=True,
        metavar="[LABEL=]ELF",
        help="Debug ELF of the kernel (plain, .zst or .xz), for inlined functions. Without a label "
        "it belongs to the next kernel.  [default: found by build id in /usr/lib/debug and similar "
        "folders, among the kernels of profdiff kernel list, or on the servers of DEBUGINFOD_URLS]",
    ),
    click.option(
        "--kallsyms",
        "kallsyms",
        multiple=True,
        metavar="[LABEL=]FILE",
        help="/proc/kallsyms of the recorded machine, used where there is no debug ELF.  [default: "
        "of the running kernel, or what perf kept, by build id]",
    ),
    click.option(
        "--modules",
        "modules",
        multiple=True,
        metavar="[LABEL=]FOLDER",
        help="A folder with the kernel's .ko files.",
    ),
    click.option(
        "--symfs",
        "roots",
        multiple=True,
        metavar="[LABEL=]FOLDER",
        help="A folder with the recorded machine's programs and libraries.",
    ),
    click.option(
        "--ops", type=click.IntRange(1), metavar="N", help="Number of operations in each recording."
    ),
]


@command("import")
@click.argument("recordings", nargs=-1, required=True, metavar="[LABEL=]FILE...")
@partial(with_options, _FILES)
@click.option(
    "-o",
    "--output",
    "folder",
    type=OUTPUT_FOLDER,
    required=True,
    help="The session folder.",
)
def import_(recordings: Sequence[str], folder: Path, ops: int | None, **symbols: Any) -> None:
    """Make a session from existing recordings: perf.data, perf script text, or folded stacks.

    The first FILE is the base. Files with one LABEL are recordings of one kernel, each in a boot of
    its own: base=a1 base=a2 new=b1 new=b2. A single FILE gives a profile without a comparison.
    """
    imported = _read(recordings, symbols)
    from profdiff.profile import importing

    described = importing.describe(imported, ops=ops, command=["profdiff", *sys.argv[1:]])
    importing.compare(imported, described)  # what cannot be compared is refused now
    session = importing.keep(folder, imported, described)
    say(f"profdiff report {shlex.quote(str(session.folder))}")


@command()
@click.argument("recordings", nargs=-1, required=True, metavar="[LABEL=]FILE...")
@partial(with_options, _FILES)
@partial(output_options, forms=[form for form in FORMS if "session" in form.render])
def diff(recordings: Sequence[str], ops: int | None, output: Output, **symbols: Any) -> None:
    """Compare existing recordings: perf.data, perf script text, or folded stacks.

    diff does import and report in one step and keeps no session. The first FILE is the base. Files
    with one LABEL are recordings of one kernel, each in a boot of its own: base=a1 base=a2 new=b1
    new=b2. A single FILE is shown without a comparison.
    """
    imported = _read(recordings, symbols)
    refuse_inputs(output.targets.values(), (one.source.path for one in imported))
    from profdiff.evidence.findings import LazyFindings
    from profdiff.profile import importing
    from profdiff.session.session import Session

    described = importing.describe(imported, ops=ops, command=["profdiff", *sys.argv[1:]])

    def findings() -> "Findings":
        from profdiff.evidence.findings import Findings

        return Findings.of_recordings(importing.compare(imported, described))

    fold = partial(importing.folded, imported)
    found = LazyFindings(ops, findings, fold, output.asked.metric)
    output.write(Subject(Session(Path("diff"), described), lambda: found, output.asked))


def _read(recordings: Sequence[str], symbols: dict[str, Sequence[str]]) -> "list[Imported]":
    from profdiff.collectors.kernels.label import labelled
    from profdiff.symbolization.perf_reading import begun

    given = [(label, place_of(text)) for label, text in labelled(recordings, _label, "FILE")]
    names = ["standard input" if str(path) == STANDARD_INPUT else path for _, path in given]
    files = [(label, kept(path) if is_pipe(path) else path) for label, path in given]
    # While what reads it is imported.
    with begun(files[0][1]):
        from profdiff.profile import importing

        sources = _sources(files, list(map(str, names)), **symbols)
        imported = [importing.read(source, _registered) for source in sources]
    if wanted := importing.wanted_symbols(imported):
        tell(f"profdiff: {wanted}")
    return imported


@cache
def _registered() -> dict[str, Path]:
    """Debug ELFs of registered kernels by build id, of those whose files are here: nothing is
    fetched or unpacked."""
    from profdiff.collectors.kernels.registered import registered
    from profdiff.symbolization._native import NativeError, elf_build_id

    found: dict[str, Path] = {}
    if not (specs := registered()):
        return found
    from profdiff.collectors.kernels.kinds.registry import parse

    for text in specs.values():
        # A kernel that is no longer there is `profdiff kernel list`'s to tell.
        with suppress(ProfdiffError, NativeError, OSError):
            spec = parse(text)
            debug_elf = spec.locate("", quiet=True).debug_elf if spec.is_here() else None
            build_id = elf_build_id(str(debug_elf)) if debug_elf else None
            if debug_elf and build_id:
                found.setdefault(build_id, debug_elf)
    return found


def _sources(
    files: Sequence[tuple[str, Path]],
    names: Sequence[str],
    vmlinuxes: Sequence[str],
    kallsyms: Sequence[str],
    modules: Sequence[str],
    roots: Sequence[str],
) -> "list[GivenRecording]":
    """The recordings with their symbols: by label, or in the order in which both were given."""
    from profdiff.profile.importing import GivenRecording

    labels = list(dict.fromkeys(label for label, _ in files))
    times = Counter((label, os.path.realpath(path)) for label, path in files)
    if again := next((name for (name, _), count in times.items() if count > 1), None):
        raise InputError(f"FILE: a recording of {again} is given twice, so it is not another boot")
    vmlinux, kallsym, module, root = [
        _by_label(option, texts, labels)
        for option, texts in (
            ("--vmlinux", vmlinuxes),
            ("--kallsyms", kallsyms),
            ("--modules", modules),
            ("--symfs", roots),
        )
    ]
    return [
        GivenRecording(
            label,
            path,
            vmlinux.get(label),
            kallsym.get(label),
            module.get(label),
            root.get(label),
            name,
        )
        for (label, path), name in zip(files, names, strict=True)
    ]


def _label(recording: str) -> str:
    """That of a recording without one: its file's name."""
    from profdiff.collectors.kernels.label import label_of, name_of

    if recording == "-":
        return "stdin"
    name = name_of(recording)
    return label_of(name.removesuffix(".perf.data") if name != ".perf.data" else name)


def _of_kind(option: str, text: str, path: Path) -> Path:
    """``path``, a file or folder as ``option`` takes it. Raises InputError."""
    folder = option in ("--modules", "--symfs")
    if not path.exists():
        raise InputError(f"{option} {text}: no such {'folder' if folder else 'file'}")
    if folder and not path.is_dir():
        raise InputError(f"{option} {text}: that is a file: name the folder")
    if not folder and path.is_dir():
        names = [one.name for one in sorted(path.glob("vmlinux*")) if one.is_file()]
        meant = f": {option} {path / names[0]}" if option == "--vmlinux" and names else ""
        raise InputError(f"{option} {text}: that is a folder: name the file{meant}")
    return path


def _by_label(option: str, texts: Sequence[str], labels: list[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        label, path = (before, after) if equals and before in labels else ("", text)
        if not label:
            free = [name for name in labels if name not in found]
            if equals and "/" not in before:
                raise InputError(f"{option} {text}: no FILE has the label {before}")
            if not free:
                raise InputError(f"{option} {text}: given more often than FILE")
            label = free[0]
        if label in found:
            raise InputError(f"{option}: {label} is given twice")
        found[label] = _of_kind(option, text, place_of(path))
    return found


STANDARD_INPUT = "-"
_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_MAX_PIPE = 16 << 30
_STEP = 1 << 20


def is_pipe(path: Path) -> bool:
    """Whether it is ``-`` or a pipe that is open already, such as ``<(perf script)``."""
    try:
        return str(path) == STANDARD_INPUT or (
            str(path).startswith(_OPEN) and not path.is_dir() and not path.is_file()
        )
    except OSError:
        return False


def kept(path: Path) -> Path:
    """A file with what comes through a pipe; it goes with this process. Raises InputError."""
    import tempfile

    name = "/dev/stdin" if str(path) == STANDARD_INPUT else str(path)
    try:
        with Path(name).open("rb") as pipe, tempfile.TemporaryFile() as file:
            if pipe.isatty():
                raise InputError(f"{path} is a terminal: pipe a recording into it, or name a file")
            _copy(pipe, file)
            return Path(f"/dev/fd/{os.dup(file.fileno())}")
    except OSError as error:
        raise InputError(
            f"cannot keep what comes from {path} ({error.strerror}): write it to a file, or set "
            "TMPDIR to a folder with more space"
        ) from error


def _copy(pipe: BinaryIO, file: BinaryIO) -> None:
    left = _MAX_PIPE
    while part := pipe.read(min(_STEP, left + 1)):
        left -= len(part)
        if left < 0:
            raise InputError(
                f"more than {_MAX_PIPE >> 30} GiB come from a pipe: write it to a file"
            )
        file.write(part)
    file.flush()
