"""The user's cache folder: unpacked kernels, symbol indexes, the compiled guest agent."""

import os
from pathlib import Path

from profdiff.base.errors import MissingError


def cache_path(*parts: str) -> Path:
    """What is below ``$PROFDIFF_CACHE`` or the platform's cache folder for profdiff, made or
    not."""
    if root := os.environ.get("PROFDIFF_CACHE"):
        return Path(root).joinpath(*parts)
    import platformdirs

    return Path(platformdirs.user_cache_dir("profdiff")).joinpath(*parts)


def cache_folder(*parts: str) -> Path:
    """The folder there, made if absent.

    Raises MissingError when the folder cannot be made.
    """
    folder = cache_path(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingError(
            f"cannot make the cache folder {folder} ({error.strerror}): set PROFDIFF_CACHE to a "
            "folder that can be written"
        ) from error
    return folder


def symbol_cache() -> Path | None:
    """The folder of symbol indexes; None where there can be none: all works, only slower."""
    try:
        return cache_folder("symbols")
    except MissingError:
        return None
