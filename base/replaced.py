"""A folder that takes another one's place at once: there is never none, nor half of one."""

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change names, at once where it can do that
    (renameat2(2)), else one after the other. Raises OSError; both are then as they were."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    if call and call(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return
    if call and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))
    aside = one.with_name(f"{one.name}.aside")
    one.rename(aside)
    try:
        other.rename(one)
    except OSError:
        aside.rename(one)
        raise
    aside.rename(other)
