"""A perf.data file, read while other things are done."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profdiff.symbolization._native import NativeError, PerfData, PerfReading, is_perf_data

_begun: dict[Path, PerfReading] = {}


@contextmanager
def begun(path: Path) -> Iterator[None]:
    """``path`` is read from now on, for who opens it in this context, if it is a perf.data file.
    Others, such as pipes, are left alone."""
    # Whoever opens it tells what is wrong; without a thread for it, it is read then.
    with suppress(NativeError, OSError):
        if path.is_file() and is_perf_data(str(path)):
            _begun[path] = PerfReading(str(path))
    try:
        yield
    finally:
        _begun.pop(path, None)


def opened(path: Path) -> PerfData:
    """The file, once it is read. Raises NativeError."""
    reading = _begun.pop(path, None)
    return reading.result() if reading else PerfData.open(str(path))
