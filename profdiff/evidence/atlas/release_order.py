"""In which order kernels were released."""

import re
from typing import Any

from profdiff.collectors.kernels.debian import version_key

# uname(2) has 64 characters; a hostile session may have more.
_LONGEST = 200
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(.*)\Z", re.DOTALL)


def release_key(release: str | None) -> tuple[Any, ...]:
    """Sort key of a release (``uname -r``), by version: a candidate (``6.19.0-rc4``) comes before
    its release, and commits after a tag (``6.19.0-rc4-00042-g1a2b3c4d5e6f``) come after it. Text
    that is not a version, and None, come last."""
    match = _VERSION.match(release or "")
    if match is None:
        return (1, release or "")
    major, minor, patch, rest = match.groups()
    # Debian writes ~rc4, Linux -rc4; dpkg sorts ~ before the end.
    rest = re.sub(r"^[-~]rc", "~rc", rest[:_LONGEST])
    return (0, int(major), int(minor), int(patch or 0), version_key(rest))
