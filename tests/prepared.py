"""``profdiff`` in processes that need not load it: each is forked of one that has.

Loading costs a quarter of a second of processor time, more than most commands take, and the tests
give a thousand. Each command still has a process, descriptors and a working folder of its own, and
goes through ``profdiff.cli.main``; what a start from nothing shows, tests/test_startup.py tests.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

# What is read when Python and libraries start: under others, a process starts from nothing.
_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "MPL", "OPENBLAS_", "TZ")
# Bytes of a request, which holds the arguments and the environment.
_REQUEST = 1 << 17


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_START)}


class Prepared:
    """The process that has loaded ``profdiff``; it ends with the one that made it."""

    def __init__(self) -> None:
        self._fixed = _fixed(os.environ)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-P", __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a process that starts in ``environment`` would start as this one did."""
        return _fixed(environment) == self._fixed

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path | None,
        environment: Mapping[str, str],
        timeout: float,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``profdiff`` with ``arguments``; after ``timeout`` seconds it is killed.

        Raises subprocess.TimeoutExpired.
        """
        asked = [list(arguments), str(cwd or Path.cwd()), dict(environment)]
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            files = [output.fileno(), errors.fileno()]
            socket.send_fds(self._socket, [json.dumps(asked).encode()], files)
            process = int(self._socket.recv(64))
            self._socket.settimeout(timeout)
            try:
                status = int(self._socket.recv(64))
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                self._socket.settimeout(None)
                self._socket.recv(64)
                raise subprocess.TimeoutExpired(asked[0], timeout) from None
            self._socket.settimeout(None)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(asked[0], status, output.read(), errors.read())


def _serve(connection: socket.socket) -> None:
    """Fork for each request, and say the process and, when it has ended, its status."""
    # The one who asks ends the processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    package = Path(import_module("profdiff").__path__[0])
    for file in sorted(package.rglob("*.py")):
        if file.name not in ("__init__.py", "__main__.py"):
            parts = file.relative_to(package.parent).with_suffix("").parts
            import_module(".".join(parts))
    # Up to 30 times, a recording waits until a file is on the disk, which others keep busy; no test
    # takes the power away.
    os.fsync = lambda _: None
    gc.collect()
    gc.freeze()
    while True:
        text, files, _, _ = socket.recv_fds(connection, _REQUEST, 2)
        if not text:
            return
        process = os.fork()
        if process == 0:
            connection.close()
            _run(text, files)
        for file in files:
            os.close(file)
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(text: bytes, files: Sequence[int]) -> NoReturn:
    from profdiff.cli import main

    arguments, folder, environment = json.loads(text)
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(Path(import_module("profdiff").__path__[0], "__main__.py")), *arguments]
    main()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
