"""What guests, machines and programs said, made fit for a line of ours."""

from pathlib import Path

from profdiff.base.terminal import printable

_MAX_LINE = 200
_END = 64 << 10


def short(text: str) -> str:
    """``text`` printable, and not too long for a line."""
    return printable(text[:_MAX_LINE])


def last_line(data: bytes) -> str:
    """The last line that is not blank; "" if there is none."""
    lines = data[-_END:].decode(errors="replace").splitlines()
    return short(next((line.strip() for line in reversed(lines) if line.strip()), ""))


def read_end(path: Path, most: int = _END) -> bytes:
    """The last ``most`` bytes of the file, whatever its length. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(file.seek(0, 2) - most, 0))
        return file.read(most)
