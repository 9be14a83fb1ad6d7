"""A perf.data file, read while other things are done."""

from pathlib import Path

from profdiff.symbolization._native import NativeError, PerfData, PerfReading, is_perf_data

_begun: dict[Path, PerfReading] = {}


def begin(path: Path) -> None:
    """Begin to read ``path`` if it is a perf.data file. Others, such as pipes, are left alone."""
    try:
        if path.is_file() and is_perf_data(str(path)):
            _begun[path] = PerfReading(str(path))
    except NativeError:
        pass  # Whoever opens it tells.


def opened(path: Path) -> PerfData:
    """The file, once it is read. Raises NativeError."""
    begun = _begun.pop(path, None)
    return begun.result() if begun else PerfData.open(str(path))
