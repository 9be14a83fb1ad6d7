"""ld.so's cache and configuration, of root folders."""

import struct
import subprocess
import tempfile
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import need_program

from profdiff.collectors.architecture import ARCHITECTURES, X86_64, Architecture
from profdiff.collectors.workload import elf_closure
from profdiff.collectors.workload.root import Root

LIBRARIES = {
    "libc.so.6": "/lib/libc.so.6",
    "libz.so.1": "/opt/lib/libz.so.1",
    "libtcl8.10.so": "/opt/lib/libtcl8.10.so",
    "libtcl8.9.so": "/opt/lib/libtcl8.9.so",
    "libtcl.so": "/opt/lib/libtcl.so",
}


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.arch)
def test_ldconfig_reads_the_cache(tmp_path: Path, architecture: Architecture) -> None:
    file = tmp_path / "cache"
    file.write_bytes(elf_closure.made(LIBRARIES, architecture))
    ldconfig = need_program("/sbin/ldconfig", "libc-bin")
    command = [ldconfig, "-C", str(file), "-p"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines() if "=>" in line]
    assert {row[0]: row[-1] for row in rows} == LIBRARIES
    assert all(architecture.ldconfig in row[1] for row in rows)
    # ldconfig prints them as they stand: from the last to the first.
    names = [row[0] for row in rows]
    assert names.index("libtcl8.10.so") < names.index("libtcl8.9.so") < names.index("libtcl.so")


def test_the_order_is_ldconfigs() -> None:
    """This machine's own cache is in the order in which ours would be."""
    try:
        data = Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        pytest.skip("this machine has no /etc/ld.so.cache")
    start = data.find(b"glibc-ld.so.cache1.1")
    if start < 0:
        pytest.skip("this machine's /etc/ld.so.cache is older than glibc 2.2")
    data = data[start:]
    (count,) = struct.unpack_from("<I", data, 20)
    keys = [struct.unpack_from("<I", data, 48 + 24 * number + 4)[0] for number in range(count)]
    names = [data[key : data.index(b"\0", key)].decode() for key in keys]
    own = elf_closure.made(dict.fromkeys(names, "/x"), X86_64)
    places = [struct.unpack_from("<I", own, 48 + 24 * n + 4)[0] for n in range(len(set(names)))]
    ours = [own[key : own.index(b"\0", key)].decode() for key in places]
    assert ours == list(dict.fromkeys(names))


def conf(root: Path, name: str, text: str) -> None:
    path = root / "etc" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_folders_of_a_configuration(tmp_path: Path) -> None:
    conf(tmp_path, "ld.so.conf", "/first # why\ninclude ld.so.conf.d/*.conf\n\n/last/\nrelative\n")
    conf(tmp_path, "ld.so.conf.d/b.conf", "/b\n")
    conf(tmp_path, "ld.so.conf.d/a.conf", "/a\n/first\ninclude /etc/ld.so.conf.d/b.conf\n")
    conf(tmp_path, "ld.so.conf.d/no", "/no\n")
    assert elf_closure.folders(Root(tmp_path)) == ("/first", "/a", "/b", "/last")


def test_a_configuration_that_never_ends(tmp_path: Path) -> None:
    """Files that include themselves, one that is large, and one that is not there."""
    lines = "include ld.so.conf\ninclude d/*\n/x\n"
    conf(tmp_path, "ld.so.conf", lines)
    conf(tmp_path, "d/again", lines)
    (tmp_path / "etc/d/out").symlink_to("../../../../../../../../../etc/ld.so.conf")
    (tmp_path / "etc/d/gone").symlink_to("nowhere")
    with (tmp_path / "etc/d/large").open("wb") as file:
        file.truncate(1 << 40)
    assert elf_closure.folders(Root(tmp_path)) == ("/x",)


PIECES = [
    "include ",
    "/",
    "*",
    "[",
    "ld.so.conf",
    "d/*",
    "\n",
    " ",
    "#",
    "..",
    "/lib",
    "\0",
    "\xff",
]


@settings(deadline=10_000, max_examples=examples(100))
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), max_size=3))
def test_any_configuration(texts: list[str]) -> None:
    """It names folders, or nothing; soon."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "etc/d").mkdir(parents=True)
        for name, text in zip(("ld.so.conf", "d/one", "d/two"), texts, strict=False):
            (root / "etc" / name).write_bytes(text.encode("latin-1"))
        found = elf_closure.folders(Root(root))
    assert all(one.startswith("/") or not one for one in found)
    assert len(found) <= 100


def test_many_folders(tmp_path: Path) -> None:
    conf(tmp_path, "ld.so.conf", "".join(f"/{number}\n" for number in range(5_000)))
    assert len(elf_closure.folders(Root(tmp_path))) == 100
