"""Servers that never end: what asks them does, in the time that it has, and leaves nothing."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from pathlib import Path

import pytest
from support import IMPORTED, need_program

from profdiff.base import processes
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.kernels import apt
from profdiff.examples.kernelci import servers
from profdiff.symbolization import debug_files

ID = "ab" * 20
# Seconds in which an answer begins, and those for all of it; and what a slow machine takes more.
PATIENCE, SECONDS, MORE = 1, 2, 8
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LOCATION = b"HTTP/1.1 302 Found\r\nLocation: /again"
SLOW = 0.05


@contextmanager
def serving(parts: Callable[[], Iterator[bytes]], pause: float) -> Iterator[int]:
    """The port of a server that sends these to whoever connects, with a pause between them, and
    closes the connection only where they end."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                for part in parts():
                    connection.sendall(part)
                    if over.wait(pause):
                        break

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        over.set()
        listening.shutdown(socket.SHUT_RDWR)


def endless(start: bytes, more: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: chain([start], repeat(more))


# What is sent, with which pause, to which address of the server.
HOSTILE: dict[str, tuple[Callable[[], Iterator[bytes]], float, str]] = {
    "nothing": (endless(b"", b""), SLOW, "http"),
    "a slow head": (endless(OK + b"X: ", b"a"), SLOW, "http"),
    "a slow line of the head": (endless(b"HTTP/1.1 200 ", b"a"), SLOW, "http"),
    "a head without end": (endless(OK, b"X: y\r\n"), 0.0, "http"),
    "100 Continue": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), 0.0, "http"),
    "a slow content": (endless(OK + b"\r\n", b"\x7f"), SLOW, "http"),
    "a slow content of a length": (
        endless(OK + b"Content-Length: 9999\r\n\r\n", b"a"),
        SLOW,
        "http",
    ),
    "a content that stops": (endless(OK + b"Content-Length: 99\r\n\r\nabc", b""), SLOW, "http"),
    "slow trailers": (endless(CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n"), SLOW, "http"),
    "fast trailers": (endless(CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n"), 0.0, "http"),
    "a trailer without end": (endless(CHUNKED + b"0\r\nX: ", b"y"), SLOW, "http"),
    "slow extensions": (endless(CHUNKED, b"1;a=b\r\nx\r\n"), SLOW, "http"),
    "an extension without end": (endless(CHUNKED + b"1;", b"a"), SLOW, "http"),
    "fast chunks": (endless(CHUNKED, b"1;a=b\r\nx\r\n"), 0.0, "http"),
    "redirects": (lambda: iter([LOCATION + b"\r\nContent-Length: 0\r\n\r\n"]), 0.0, "http"),
    "a slow redirect": (endless(LOCATION, b"x"), SLOW, "http"),
    "a redirect's content": (endless(LOCATION + b"\r\n\r\n", bytes(1 << 16)), 0.0, "http"),
    "an error's content": (endless(b"HTTP/1.1 500 No\r\n\r\n", bytes(1 << 16)), 0.0, "http"),
    "TLS that says nothing": (endless(b"", b""), SLOW, "https"),
    "slow TLS": (endless(b"\x16\x03\x01\x40\x00", b"a"), SLOW, "https"),
    "a proxy that says nothing": (endless(b"", b""), SLOW, "proxy http"),
    "a proxy's slow content": (endless(OK + b"\r\n", b"a"), SLOW, "proxy http"),
    "a proxy's head without end": (endless(OK, b"X: y\r\n"), 0.0, "proxy https"),
    "a proxy's slow head": (endless(OK, b"X: y\r\n"), SLOW, "proxy https"),
}


def asked(ask: Callable[[str], object], url: str) -> tuple[str, float]:
    started = time.monotonic()
    with pytest.raises((ProfdiffError, servers.LabError)) as told:
        ask(url)
    return str(told.value), time.monotonic() - started


def check(
    ask: Callable[[str], object], monkeypatch: pytest.MonkeyPatch, names: Collection[str]
) -> None:
    """Ask all of them at once, but each that is a proxy by itself, since the environment names
    it."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    before, started = (threading.active_count(), descriptors()), children()

    def one(name: str) -> tuple[str, float]:
        parts, pause, scheme = HOSTILE[name]
        with serving(parts, pause) as port:
            *proxied, scheme = scheme.split()
            if proxied:
                monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{port}")
            return asked(ask, f"{scheme}://" + ("a.invalid" if proxied else f"127.0.0.1:{port}"))

    direct = [name for name in names if not HOSTILE[name][2].startswith("proxy")]
    with ThreadPoolExecutor(12) as threads:
        found = dict(zip(direct, threads.map(one, direct), strict=True))
    for name in set(names) - found.keys():
        found[name] = one(name)
    late = {name: said for name, said in found.items() if said[1] > SECONDS + MORE}
    assert not late
    for why, _ in found.values():
        assert why.isprintable() and len(why) < 400
    # The servers of this test go on for a moment.
    deadline = time.monotonic() + 10
    while (threading.active_count(), descriptors()) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (threading.active_count(), descriptors()) <= before
    assert children() == started


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.mark.slow
def test_debuginfod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", str(PATIENCE))
    monkeypatch.setenv("DEBUGINFOD_MAXTIME", str(SECONDS))
    check(
        lambda url: debug_files.fetch(url, ID, tmp_path / "debuginfo", "x"),
        monkeypatch,
        HOSTILE,
    )


@pytest.mark.slow
def test_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "PATIENCE", PATIENCE)
    monkeypatch.setattr(servers, "SECONDS", SECONDS)
    check(lambda url: servers.Servers([url], "").read(url, 1 << 20), monkeypatch, HOSTILE)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("redirects", "it leads to more than 10 others"),
        ("an error's content", "it answers 500"),
        ("slow trailers", "it sent 0.0 KiB in 3 s"),
    ],
)
def test_what_is_said(name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "3")
    with serving(*HOSTILE[name][:2]) as port:
        url = f"http://127.0.0.1:{port}"
        said, seconds = asked(
            lambda url: debug_files.fetch(url, ID, tmp_path / "debuginfo", "x"), url
        )
    assert why in said and seconds < 3 + MORE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a slow head", "a slow content of a length", "100 Continue"])
def test_apt(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_program("apt-get", "apt")
    (tmp_path / "key.gpg").touch()
    started = children()
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(apt, "KEYRING", str(tmp_path / "key.gpg"))
    monkeypatch.setattr(apt, "_SECONDS", PATIENCE, raising=False)
    with serving(*HOSTILE[name][:2]) as port:
        monkeypatch.setattr(apt, "MIRROR", f"http://127.0.0.1:{port}")
        why, seconds = asked(lambda suite: apt.Apt((suite,)), "some")
        # With what it started, which speaks to the server.
        assert f"127.0.0.1:{port}".encode() not in b"".join(command_lines())
    assert "apt-get took longer than" in why and seconds < SECONDS + MORE
    assert children() == started


def command_lines() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_bytes()


def test_what_a_program_starts_ends_with_it(tmp_path: Path) -> None:
    """Also what ignores that it is told to, and what has its pipes."""
    note = tmp_path / "note"
    script = f"(trap '' TERM; echo $BASHPID > {note}; exec sleep 300) & sleep 300"
    started = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(["bash", "-c", script], PATIENCE)
    assert time.monotonic() - started < SECONDS + MORE
    # A process that was killed may be there for a moment, and longer where nobody takes orphans.
    deadline = time.monotonic() + MORE
    while (left := state(int(note.read_text()))) not in "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left in "Z"


def state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


# What a name's server is asked for, it does not answer: glibc would wait for 2 * 5 s, here longer.
UNANSWERED = """
import fcntl, socket, struct, sys, time
from pathlib import Path
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as up:
    fcntl.ioctl(up, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
from profdiff.symbolization import debug_files
started = time.monotonic()
try:
    debug_files.fetch("http://a.example", "ab" * 20, Path(sys.argv[1]), "x")
except debug_files.FetchError as error:
    print(error)
silent.setblocking(False)
print(bool(silent.recv(99)), time.monotonic() - started)
"""


@pytest.mark.slow
def test_a_name_that_nobody_answers(tmp_path: Path) -> None:
    need_program("unshare", "util-linux")
    settings = tmp_path / "resolv.conf"
    settings.write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
    inside: Sequence[str | Path] = (
        'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"',
        "sh",
        settings,
        sys.executable,
        "-P",
        "-c",
        UNANSWERED,
        tmp_path / "debuginfo",
    )
    if subprocess.run(["unshare", "-rmn", "true"], check=False, capture_output=True).returncode:
        pytest.skip("unshare -rmn: this machine does not let its users have networks of their own")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(IMPORTED)}
    told = subprocess.run(
        ["unshare", "-rmn", "sh", "-c", *inside],
        env={**environment, "DEBUGINFOD_TIMEOUT": str(PATIENCE)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    why, _, rest = told.partition("\n")
    reached, seconds = rest.split()
    assert why == "a.example is not asked again: it sent no answer in 1 s"
    assert reached == "True" and float(seconds) < SECONDS + MORE
