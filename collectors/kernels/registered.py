"""Names that a user gave to kernels: ``profdiff kernel add NAME SPEC``."""

import os
from pathlib import Path

import msgspec
import platformdirs

from profdiff.base.errors import InputError, MissingError
from profdiff.base.names import did_you_mean
from profdiff.base.outputs import write_outputs


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
    """Let ``name`` stand for ``spec``, which means the same from any folder; replaces an older
    meaning. Raises MissingError when the file cannot be written."""
    _save(registered() | {name: spec})


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


def _save(names: dict[str, str]) -> None:
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = msgspec.json.format(
            msgspec.json.encode(_File(dict(sorted(names.items())))), indent=1
        )
        write_outputs([(path, data + b"\n")], durable=True)
    except OSError as error:
        raise MissingError(
            f"cannot write {path} ({error.strerror}): set PROFDIFF_CONFIG to a folder that can be "
            "written"
        ) from error
