"""Root folders of Debian, and what runs in them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import SHARED, need_kernel, need_program

from profdiff.collectors.kernels.apt import MIRROR

# In namespaces of its own: mounts end with it.
ENTER = """
mkdir -p "$0/kernels" "$0/work" "$0/proc" "$0/dev" "$0/tmp"
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/kernels" &&
exec env -i HOME=/work LANG=C.UTF-8 PATH="$2:/usr/sbin:/usr/bin:/sbin:/bin" \\
	/usr/sbin/chroot "$0" /bin/sh -ec "cd /work; $3"
"""
OWN = ("unshare", "--mount", "--pid", "--fork")
ONE_USER = (*OWN, "--user", "--map-root-user")


def run(*command: str | Path) -> str:
    """What it printed. Fails with all that it said."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


@contextmanager
def debian(folder: Path, suite: str, *options: str) -> Iterator[Path]:
    """A root folder that mmdebstrap makes with ``options``."""
    if os.geteuid() != 0:
        pytest.skip("a root folder of its own needs root")
    need_program("mmdebstrap")
    root = folder / suite
    try:
        run("mmdebstrap", "--quiet", *options, suite, root, MIRROR)
        (root / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
        yield root
    finally:
        run("rm", "-rf", "--one-file-system", root)


def within(
    root: Path,
    script: str,
    *,
    path: str = "/usr/local/bin",
    before: str = "",
    own: tuple[str, ...] = OWN,
) -> str:
    """What a shell script prints there, in /work, with the fixture kernels in /kernels; ``before``
    runs outside of it, both in their ``own`` namespaces."""
    need_kernel("v6.12.107")
    return run(*own, "sh", "-c", before + ENTER, root, SHARED / "kernels", path, script)
