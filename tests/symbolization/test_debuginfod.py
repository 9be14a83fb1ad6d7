"""Files from debuginfod servers: a real one, its real client, and servers that mean no good."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from debug_parts import Parts, parts
from support import SHARED, need_kernel, need_profile, need_program, profdiff

from profdiff.symbolization import debug_files
from profdiff.symbolization._native import elf_build_id
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.debug_files import debug_file


@pytest.fixture(autouse=True)
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and no server that failed in another test."""
    folder = tmp_path / "client"
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(folder))
    # Whatever proxy this machine has, the servers are on loopback.
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    debug_files.find.cache_clear()
    debug_files._failed.clear()
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return parts(tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def server(made: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server on loopback, which has the program's parts and, if there are
    fixture kernels, one of them."""
    program = need_program("debuginfod")
    folder = tmp_path_factory.mktemp("server")
    wanted = [made.build_id]
    kernel = SHARED / "kernels/v6.12.107/vmlinux.zst"
    if kernel.is_file() and shutil.which("zstd"):
        subprocess.run(["zstd", "-dq", kernel, "-o", folder / "vmlinux"], check=True)
        wanted.append(elf_build_id(str(kernel)) or "")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-F", "-p", str(port), "-d", str(folder / "files.sqlite")]
    command += [str(made.program.parent), str(made.debug.parent), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for build_id in wanted:
            _wait(f"{address}/buildid/{build_id}/debuginfo", process)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None
        try:
            urlopen(url, timeout=30).close()  # noqa: S310 (loopback)
        except (URLError, OSError):
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"debuginfod does not serve {url}")


@pytest.mark.build
def test_what_was_stripped_off_is_fetched_once(
    made: Parts, server: str, client: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(shutil.copy(made.program, tmp_path))
    assert debug_file(program) == program
    debug_files.find.cache_clear()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"ima:ignore http://127.0.0.1:1/ {server}/")
    found = debug_file(program)
    assert found == client / made.build_id / "debuginfo"
    assert found.read_bytes() == made.debug.read_bytes()
    assert [path.name for path in client.rglob("*") if path.is_file()] == ["debuginfo"]
    # Nothing is asked for what is there, nor for a program that has everything.
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
    debug_files.find.cache_clear()
    assert debug_file(program) == found
    assert debug_file(made.whole) == made.whole
    monkeypatch.delenv("DEBUGINFOD_URLS")
    debug_files.find.cache_clear()
    assert debug_file(program) == found


@pytest.mark.build
def test_a_program_that_is_not_here_is_fetched(
    made: Parts, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", server)
    found = Binaries().find("/not/here/prog", made.build_id)
    assert isinstance(found, Path)
    assert found.read_bytes() == made.program.read_bytes()
    assert Binaries().find("/not/here/prog", "ab" * 20) == "no-file"
    assert Binaries().find("/not/here/prog", None) == "no-file"


@pytest.mark.build
def test_the_real_client_shares_the_cache(
    made: Parts, server: str, client: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = [need_program("debuginfod-find", "debuginfod"), "debuginfo", made.build_id]
    theirs = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "theirs")}
    theirs["DEBUGINFOD_URLS"] = server
    path = subprocess.run(find, env=theirs, capture_output=True, text=True, check=True).stdout
    # What it fetched is found without a server, and is what is fetched from one.
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "theirs"))
    kept = debug_files.find(made.build_id, "debuginfo", "prog")
    assert str(kept) == path.strip()
    debug_files.find.cache_clear()
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(client))
    monkeypatch.setenv("DEBUGINFOD_URLS", server)
    fetched = debug_files.find(made.build_id, "debuginfo", "prog")
    assert fetched is not None
    assert kept is not None
    assert fetched.read_bytes() == kept.read_bytes()
    # And the client finds what was fetched here, from a server that does not answer.
    ours = {**theirs, "DEBUGINFOD_CACHE_PATH": str(client)}
    ours["DEBUGINFOD_URLS"] = "http://127.0.0.1:1"
    path = subprocess.run(find, env=ours, capture_output=True, text=True, check=True).stdout
    assert path.strip() == str(fetched)


@pytest.mark.build
def test_a_kernel_is_fetched_and_named(server: str) -> None:
    file = need_profile("v6.12.107")
    need_kernel("v6.12.107")
    need_program("zstd")
    bare = profdiff("diff", f"base={file}")
    assert "--vmlinux base=ELF (build id 677a0be9a4adff4f7c616bf3f449ce2259e39c71)" in bare.stderr
    assert bare.stderr.count("\n") == 1
    assert "unresolved: no-symbol (kernel)" in bare.stdout
    # perf shows these addresses; the kernel's text was at 0xffffffff81000000.
    assert "most often at _text+0x3e213b (1.6%)" in " ".join(bare.stdout.split())
    named = profdiff("diff", f"base={file}", env={"DEBUGINFOD_URLS": server})
    assert "debuginfod: vmlinux of base (677a0be9a4ad)" in named.stderr
    assert "change_pte_range" in named.stdout
    assert "__pte_needs_invert" in named.stdout  # it is inlined everywhere
    assert "no-symbol" not in named.stdout


@pytest.mark.kernel
def test_a_registered_kernel_names_functions(tmp_path: Path) -> None:
    file = need_profile("v6.12.107")
    ours = {"PROFDIFF_CONFIG": str(tmp_path), "DEBUGINFOD_URLS": ""}
    profdiff("kernel", "add", "mine", str(need_kernel("v6.12.107")), env=ours)
    profdiff("kernel", "add", "other", "debian:trixie", env=ours)
    named = profdiff("diff", f"base={file}", env=ours)
    assert "change_pte_range" in named.stdout
    assert "--vmlinux" not in named.stderr


Answer = Callable[[BaseHTTPRequestHandler], None]


def _content(content: bytes, length: int | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def _redirect(to: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.end_headers()

    return answer


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], list[str]]]:
    """Starts a server that answers everything like this; gives the paths that it was asked for."""
    started: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> list[str]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                answer(self)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        started.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{server.server_port}")
        return asked

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


ID = "ab" * 20


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_content(b"<html>login</html>"), "does not have the build id"),
        (_content(b""), "does not have the build id"),
        (_content(Path("/bin/sh").read_bytes()), "does not have the build id"),
        (_content(b"\x7fELF" + bytes(5000), length=9000), "it ended before its file did"),
        (_content(bytes(3 << 20)), "is larger than 2.0 MiB"),
        (_redirect("file:///bin/sh"), ""),
        (_redirect("ftp://127.0.0.1/x"), ""),
        (lambda handler: handler.send_error(500), "it answers 500"),
        (lambda handler: handler.wfile.write(b"\x1b[2J\r\n\r\n"), ""),
        (lambda handler: handler.connection.close(), ""),
    ],
)
def test_what_a_server_may_do(
    answer: Answer,
    told: str,
    hostile: Callable[[Answer], list[str]],
    client: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DEBUGINFOD_MAXSIZE", str(2 << 20))
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "20")
    asked = hostile(answer)
    assert debug_files.find(ID, "debuginfo", "x") is None
    assert asked == [f"/buildid/{ID}/debuginfo"]
    (line,) = capsys.readouterr().err.splitlines()
    assert "is not asked again" in line
    assert told in line
    assert line.isprintable()
    assert not [path for path in client.rglob("*") if path.is_file()]
    # It is not asked for the next of many files.
    assert debug_files.find("cd" * 20, "debuginfo", "y") is None
    assert len(asked) == 1


def _dripping_file(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b"\x7f")
        handler.wfile.flush()
        time.sleep(0.1)


def _dripping_head(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    with suppress(OSError):
        for _ in range(100):
            handler.wfile.write(b"a")
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("drip", "told"),
    [(_dripping_file, "it sent 0.0 KiB in 1 s"), (_dripping_head, "it sent no answer in 1 s")],
)
def test_a_server_that_drips_is_left(
    drip: Answer,
    told: str,
    hostile: Callable[[Answer], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "1")
    hostile(drip)
    assert debug_files.find(ID, "debuginfo", "x") is None
    assert told in capsys.readouterr().err


@pytest.mark.build
def test_a_cache_that_cannot_be_written(
    made: Parts,
    hostile: Callable[[Answer], list[str]],
    client: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.write_text("a file where the folder would be")
    hostile(_content(made.debug.read_bytes()))
    assert debug_files.find(made.build_id, "debuginfo", "x") is None
    assert f"{client}/{made.build_id}: Not a directory" in capsys.readouterr().err


def test_a_file_that_a_server_does_not_have(
    hostile: Callable[[Answer], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = hostile(lambda handler: handler.send_error(404))
    for build_id in (ID, ID, "cd" * 20):
        assert debug_files.find(build_id, "debuginfo", "x") is None
    assert len(asked) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("url", ["file:///", "http://user:secret@127.0.0.1:1", "nonsense"])
def test_addresses_that_are_not_used(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", url)
    assert debug_files.find(ID, "debuginfo", "x") is None
    told = capsys.readouterr().err
    assert "only http:// and https://" in told
    assert "secret" not in told


@pytest.mark.parametrize("build_id", ["../../etc", "", "ABCDEF0123456789", "a" * 200])
def test_build_ids_that_are_no_names_of_files(
    build_id: str, hostile: Callable[[Answer], list[str]]
) -> None:
    asked = hostile(_content(b"x"))
    assert debug_files.find(build_id, "debuginfo", "x") is None
    assert asked == []
