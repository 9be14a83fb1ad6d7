"""Names that a user gave to kernels: ``profdiff kernel add NAME SPEC``."""

import difflib
import os
from pathlib import Path

import msgspec
import platformdirs

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.kernels.spec import is_label


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kernels: dict[str, str] = {}


def _path() -> Path:
    folder = os.environ.get("PROFDIFF_CONFIG") or platformdirs.user_config_dir("profdiff")
    return Path(folder) / "kernels.json"


def registered() -> dict[str, str]:
    """Specs by name. Raises InputError when the file is damaged."""
    path = _path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).kernels
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is damaged ({error}): repair or delete it") from error


def add(name: str, spec: str) -> None:
    """Let ``name`` stand for ``spec``, with its paths made absolute; replaces an older meaning.

    Raises InputError when the name is no label, MissingError when the file cannot be written.
    """
    if not is_label(name):
        raise InputError(f"{name!r} is not a name: use letters, digits and . _ + - (at most 64)")
    _save(registered() | {name: absolute(spec)})


def remove(name: str) -> None:
    """Forget ``name``. Raises InputError when it is not registered."""
    names = registered()
    if name not in names:
        raise InputError(unknown(name))
    del names[name]
    _save(names)


def unknown(name: str) -> str:
    """What to say of a name that is not registered."""
    near = difflib.get_close_matches(name, registered(), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see profdiff kernel list"
    return f"no kernel is registered as {name}: {hint}"


def absolute(spec: str) -> str:
    """``spec`` with all paths absolute, so that it means the same from any folder."""
    if spec.startswith("debian:"):
        return spec
    paths = spec.split(",")
    if all(path.endswith(".deb") for path in paths):
        return ",".join(map(_absolute, paths))
    # A folder's name may hold = and comma.
    image, separator, debug_elf = spec.partition(",vmlinux=")
    return _absolute(image) + separator + (_absolute(debug_elf) if separator else "")


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _save(names: dict[str, str]) -> None:
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = msgspec.json.format(
            msgspec.json.encode(_File(dict(sorted(names.items())))), indent=1
        )
        write_atomic(path, data + b"\n")
    except OSError as error:
        raise MissingError(
            f"cannot write {path} ({error.strerror}): set PROFDIFF_CONFIG to a folder that can be "
            "written"
        ) from error
