"""Places in a guest."""

import os
import re

# Where a workload is, and its current folder.
GUEST_FOLDER = "/work"
# Those of a guest's own, whatever COMMAND calls them.
OWN = re.compile(r"/(init$|profdiff(/|$)|bin/busybox$|proc(/|$)|sys(/|$)|dev(/|$))")


def guest_place(word: str) -> str:
    """Where a word of COMMAND leads in the guest: a relative one from GUEST_FOLDER on."""
    # join() takes an absolute word as it is; two slashes at the start would stay.
    return re.sub("^//", "/", os.path.normpath(os.path.join(GUEST_FOLDER, word)))  # noqa: PTH118
