"""Whether sources are those that a kernel was built from, as its debug information tells."""

from collections.abc import Collection, Iterator

from profdiff.base.errors import InputError
from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.comparison import Comparison
from profdiff.symbolization.chains import Chains
from profdiff.views.annotation.source_lines import SourceTree


def check_sources(
    comparison: Comparison,
    kernel: int,
    functions: KernelFunctions,
    tree: SourceTree,
    files: Collection[str],
) -> None:
    """Raises InputError where one of some files is of another version than what kernel number
    ``kernel`` was built from."""
    tree.read(files)
    last = dict.fromkeys(files, 0)
    for chains in _chains(functions):
        for number, name in enumerate(chains.strings):
            if name in last:
                lines = chains.frame_line[chains.frame_file == number]
                last[name] = max(last[name], int(lines.max(initial=0)))
    declared: dict[str, dict[str, int]] = {file: {} for file in files}
    for function, row in comparison.numbers[kernel].items():
        if function.file in declared and row < len(comparison.lines):
            declared[function.file][function.name] = int(comparison.lines[row, kernel])
    for file in sorted(files):
        why = tree.misfit(file, last[file], declared[file])
        if why is not None:
            raise InputError(f"{why}: name the sources that it was built from")


def _chains(functions: KernelFunctions) -> Iterator[Chains]:
    """All that is known of where a kernel's code is from."""
    for part in functions.parts:
        yield part.addresses.chains
    if functions.known.part is not None:
        yield functions.known.part.chains
