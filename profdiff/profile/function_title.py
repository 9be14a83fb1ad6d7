"""What a function is called where another one may have its name."""

from profdiff.base import units


def title(name: str, owner: str, file: str, *, namesakes: bool) -> str:
    """A function's name with the object that it is in, unless that is the kernel, and, of
    namesakes, its file; one printable line."""
    place = [] if owner in ("vmlinux", "") else [owner]
    if namesakes and file:
        place.append(file)
    return units.printable(f"{name} ({', '.join(place)})" if place else name)
