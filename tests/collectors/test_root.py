"""Root folders: where a path leads in one, against the kernel's own answer, and hostile ones."""

import ctypes
import errno
import os
import tempfile
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from profdiff.collectors.workload.root import Root

# <linux/openat2.h>, and the number that all architectures have for it.
SYS_OPENAT2, RESOLVE_IN_ROOT = 437, 0x10


class OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def by_the_kernel(root: Path, path: str) -> str | None:
    """The regular file that openat2(2) opens for a process whose root it would be."""
    libc = ctypes.CDLL(None, use_errno=True)
    how = OpenHow(os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_IN_ROOT)
    folder = os.open(root, os.O_PATH)
    try:
        name = path.encode()
        size = ctypes.sizeof(how)
        opened = libc.syscall(SYS_OPENAT2, folder, name, ctypes.byref(how), size)
        if opened < 0:
            if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
                pytest.skip("openat2(2) is not available here")
            return None
        found = Path(f"/proc/self/fd/{opened}").readlink()
        os.close(opened)
    finally:
        os.close(folder)
    return str(found) if found.is_file() else None


NAMES = st.sampled_from(["a", "b", "c", "..", ".", ""])
PATHS = st.lists(NAMES, max_size=5).map("/".join)
# Places, and what is there: a folder, a file, or a link.
ENTRIES = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join),
        st.one_of(st.just("folder"), st.just("file"), PATHS, PATHS.map("/{}".format)),
    ),
    max_size=12,
)


@settings(max_examples=examples(300))
@given(entries=ENTRIES, asked=st.lists(PATHS, min_size=1, max_size=8))
def test_a_path_leads_where_the_kernel_says(
    entries: list[tuple[str, str]], asked: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        # Were it found, a link would have led out.
        (top / "a").write_text("outside")
        root = top / "root"
        root.mkdir()
        for place, what in entries:
            path = root / place
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if what == "folder":
                    path.mkdir()
                elif what == "file":
                    path.touch()
                elif what:
                    path.symlink_to(what)
            except OSError:
                continue
        for one in asked:
            found = Root(root).find(f"/{one}")
            assert (str(found) if found else None) == by_the_kernel(root, f"/{one}")


def test_links_of_a_stranger(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    path = tmp_path / "root"
    (path / "bin").mkdir(parents=True)
    root = Root(path)
    for name, target in (
        ("absolute", str(secret)),
        ("up", "../../../../../../" + str(secret)),
        ("beside", "../../secret"),
        ("loop", "loop"),
        ("one", "other"),
        ("other", "one"),
    ):
        (path / "bin" / name).symlink_to(target)
        assert root.find(f"/bin/{name}") is None
    os.mkfifo(path / "bin/fifo")
    for odd in ("/bin/fifo", "/bin", "/bin/" + "x" * 5000, "/" * 5000, "/bin/\0", "/bin/../.."):
        assert root.find(odd) is None
    (path / "secret").write_text("theirs")
    assert root.find("/bin/beside") == path / "secret"


def test_chains_of_links(tmp_path: Path) -> None:
    """As many as the kernel follows, and no more."""
    (tmp_path / "0").touch()
    for number in range(1, 50):
        (tmp_path / str(number)).symlink_to(str(number - 1))
    root = Root(tmp_path)
    assert root.find("/40") == tmp_path / "0"
    assert root.find("/41") is None
    assert by_the_kernel(tmp_path, "/40")
    assert not by_the_kernel(tmp_path, "/41")


def test_which_command(tmp_path: Path) -> None:
    for place, mode in (("bin/one", 0o755), ("usr/bin/one", 0o644), ("sbin/two", 0o755)):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch(mode)
    root = Root(tmp_path)
    assert root.which("one") == "/bin/one"
    assert root.which("two") == "/sbin/two"
    assert root.which("three") is None


def test_what_a_root_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "root"
    (path / "bin").mkdir(parents=True)
    root = Root(path)
    (tmp_path / "link").symlink_to("root")
    monkeypatch.chdir(path)
    for inside in (path / "bin/x", Path("bin/x"), tmp_path / "link/bin/x"):
        assert root.holds(inside) == "/bin/x"
    for outside in (tmp_path / "rootless", path / "../x", Path("/bin/x")):
        assert root.holds(outside) is None
