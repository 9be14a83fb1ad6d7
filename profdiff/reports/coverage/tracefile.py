"""Source lines with their counts as lcov's tracefile, which geninfo(1) describes."""

import re
from collections.abc import Iterator

from profdiff.views.coverage import File, Tracefile


def render(tracefile: Tracefile) -> str:
    """The whole file. Names of files are relative to the source tree."""
    # A test's name has nothing but letters, digits and underscores.
    test = re.sub(r"\W", "_", tracefile.kernel, flags=re.ASCII)
    lines = [line for file in tracefile.files for line in _section(test, file)]
    return "".join(f"{line}\n" for line in lines)


def _section(test: str, file: File) -> Iterator[str]:
    yield f"TN:{test}"
    yield f"SF:{file.name}"
    for function in file.functions:
        yield f"FN:{function.line},{function.name}"
    for function in file.functions:
        yield f"FNDA:{function.calls},{function.name}"
    if file.functions:
        yield f"FNF:{len(file.functions)}"
        yield f"FNH:{len(file.functions)}"
    for line, count in file.lines.items():
        yield f"DA:{line},{count}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{sum(count > 0 for count in file.lines.values())}"
    yield "end_of_record"
