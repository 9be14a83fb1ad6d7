"""Options of ``git:`` that say how code is made, beside ``cc=``: ``opt=size``, ``lto=thin``,
``cfi=yes``, ``autofdo=FILE``. They become options of the config, and variables of make."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.bounded import read
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, told

# By value, the options of the config of which one must be set; Linux renames them.
_SETS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "opt": {
        "speed": ("CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE",),
        "size": ("CONFIG_CC_OPTIMIZE_FOR_SIZE",),
    },
    "lto": {
        "no": ("CONFIG_LTO_NONE",),
        "thin": ("CONFIG_LTO_CLANG_THIN",),
        "full": ("CONFIG_LTO_CLANG_FULL",),
    },
    # CONFIG_CFI since 6.18.
    "cfi": {"no": (), "yes": ("CONFIG_CFI", "CONFIG_CFI_CLANG")},
}
_AUTOFDO = ("CONFIG_AUTOFDO_CLANG",)
NAMES = (*_SETS, "autofdo")
# Profiles of whole kernels are some MB.
_MAX_PROFILE = 256 << 20

CodeOptions = Mapping[str, str]


def check(spec: str, given: CodeOptions) -> None:
    """Raises InputError for a value that an option does not have."""
    for name, values in _SETS.items():
        if name in given and given[name] not in values:
            raise InputError(f"{spec}: {name}={given[name]}: write {name}={'|'.join(values)}")


def refuse_compiler(spec: str, given: CodeOptions, version: str) -> None:
    """Raises InputError where only clang can do what is ``given``, and the compiler is another."""
    for name, value in given.items():
        if name != "opt" and value != "no" and "clang" not in version:
            raise InputError(f"{spec}: {name}= needs clang, and this is {version}: write cc=clang")


def config_of(given: CodeOptions) -> str:
    """The lines of a config."""
    values: dict[str, str] = {}
    for name, value in given.items():
        for options in _SETS.get(name, {"": _AUTOFDO}).values():
            values.update(dict.fromkeys(options, "n"))
        values.update(dict.fromkeys(_wanted(name, value), "y"))
    return "".join(
        f"{name}=y\n" if value == "y" else f"# {name} is not set\n"
        for name, value in values.items()
    )


def lacking(given: CodeOptions, got: Mapping[str, str]) -> list[str]:
    """What of ``given`` a config does not have, with the option that would: ``lto=thin
    (CONFIG_LTO_CLANG_THIN)``."""
    found = []
    for name, value in given.items():
        wanted = _wanted(name, value)
        if wanted and all(got.get(option) != "y" for option in wanted):
            found.append(f"{name}={value} ({' or '.join(wanted)})")
    return found


def is_code_option(line: str) -> bool:
    """Whether ``CONFIG_X=y`` is for one of these."""
    every = (one for values in _SETS.values() for options in values.values() for one in options)
    return line.partition("=")[0] in {*every, *_AUTOFDO}


def profile(given: CodeOptions) -> Path | None:
    """The profile of ``autofdo=``, in the cache under a name of its content, so that nothing is
    compiled with one that changed. Raises InputError."""
    if "autofdo" not in given:
        return None
    path = Path(given["autofdo"]).expanduser()
    try:
        content = read(path, _MAX_PROFILE)
    except OSError as error:
        raise InputError(f"autofdo={path}: {told(error)}") from error
    kept = cache_folder("builds", "profiles") / f"{hashlib.sha256(content).hexdigest()[:24]}.afdo"
    if not kept.is_file():
        write_atomic(kept, content)
    return kept


def words(compiler: str, given: CodeOptions) -> list[str]:
    """What reports call it."""
    return [
        *([f"cc={compiler}"] if compiler else []),
        *(f"{name}={re.sub('.*/', '', value)}" for name, value in given.items()),
    ]


def _wanted(name: str, value: str) -> tuple[str, ...]:
    return _SETS[name][value] if name in _SETS else _AUTOFDO
