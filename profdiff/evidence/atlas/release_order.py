"""In which order kernels were released."""

import re
from typing import Any

from profdiff.collectors.kernels.debian import version_key

# uname(2) has 64 characters; a hostile session may have more.
_LONGEST = 200
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(.*)\Z", re.DOTALL)


def release_key(release: str | None) -> tuple[Any, ...]:
    """Sorts releases (``uname -r``) by version: a candidate (``6.19.0-rc4``) before what it is one
    of, commits behind a tag (``6.19.0-rc4-00042-g1a2b3c4d5e6f``) behind it. What is no version, or
    unknown, stands at the end."""
    match = _VERSION.match(release or "")
    if match is None:
        return (1, release or "")
    major, minor, patch, rest = match.groups()
    # Debian writes ~rc4, Linux -rc4; dpkg sorts ~ before the end.
    rest = re.sub(r"^[-~]rc", "~rc", rest[:_LONGEST])
    return (0, int(major), int(minor), int(patch or 0), version_key(rest))
