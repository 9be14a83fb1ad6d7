"""Names that a user gave to kernels: ``profdiff kernel add NAME SPEC``."""

import os
from pathlib import Path

import msgspec
import platformdirs

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, MissingError
from profdiff.base.near import did_you_mean
from profdiff.collectors.kernels.address import parse_address
from profdiff.collectors.kernels.git_spec import GitSpec, is_git
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

    Raises InputError when the name cannot be one, MissingError when the file cannot be written.
    """
    check_name(name)
    _save(registered() | {name: absolute(spec)})


def check_name(name: str) -> None:
    """Raises InputError when ``name`` is no label, or is a spec itself."""
    if not is_label(name):
        raise InputError(f"{name!r} is not a name: use letters, digits and . _ + - (at most 64)")
    if parse_address(name) or name.endswith(".deb"):
        raise InputError(f"{name} is a SPEC itself, which a name cannot replace: choose another")


def remove(name: str) -> None:
    """Forget ``name``. Raises InputError when it is not registered."""
    names = registered()
    if name not in names:
        raise InputError(unknown(name))
    del names[name]
    _save(names)


def unknown(name: str) -> str:
    """What to say of a name that is not registered."""
    meant = did_you_mean(name, list(registered())) or "see profdiff kernel list"
    return f"no kernel is registered as {name}: {meant}"


def absolute(spec: str) -> str:
    """``spec`` with all paths absolute, so that it means the same from any folder; a registered
    name that no file has stands for its spec. Raises InputError for a malformed machine."""
    if spec.startswith("debian:"):
        return spec
    if is_git(spec):
        return str(GitSpec.parse(spec).absolute())
    paths = spec.split(",")
    if all(path.endswith(".deb") for path in paths):
        return ",".join(map(_absolute, paths))
    if is_label(spec) and not Path(spec).exists() and (known := registered().get(spec)):
        return known
    # A folder's name may hold = and comma.
    place, separator, debug_elf = spec.partition(",vmlinux=")
    place = place if parse_address(place) else _absolute(place)
    return place + separator + (_absolute(debug_elf) if separator else "")


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
