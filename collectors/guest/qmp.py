"""QEMU's monitor (docs/interop/qmp-spec.rst) over a pair of sockets: nothing waits here."""

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

# Above any answer of QEMU's; its registers are the longest, some kilobytes for each vCPU.
_MAX_LINE = 8 << 20
_FAILED = "the state of the machine cannot be moved"
# How long QEMU may take to say why.
_ANSWER_SECONDS = 5.0


class QmpError(Exception):
    """What QEMU refused, or that it talks nonsense; for a person."""


class Qmp:
    """The monitor of a QEMU that is started with ``arguments``, and then ``connected()``."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._text = b""
        self._ended = False

    @property
    def descriptor(self) -> int:
        """The descriptor of QEMU's end, which QEMU inherits."""
        return self._theirs.fileno()

    @property
    def arguments(self) -> list[str]:
        """What QEMU's command line says of it."""
        chardev = f"socket,id=monitor,fd={self.descriptor}"
        return ["-chardev", chardev, "-mon", "chardev=monitor,mode=control"]

    def connected(self) -> None:
        """QEMU has its end."""
        self._theirs.close()
        self.send("qmp_capabilities")

    @property
    def listening(self) -> list[int]:
        """What can be read when QEMU has said something."""
        return [] if self._ended else [self._ours.fileno()]

    def send(self, command: str, file: int | None = None, /, **arguments: object) -> None:
        """Give a command, and a file descriptor with it. QEMU carries out one after the other."""
        told: Mapping[str, object] = {"execute": command, "arguments": arguments}
        line = json.dumps(told).encode() + b"\n"
        try:
            # Far below what a socket holds.
            if file is None:
                self._ours.send(line)
            else:
                socket.send_fds(self._ours, [line], [file])
        except OSError:
            # It has ended, and its own words say why.
            return

    def heard(self) -> list[dict[str, Any]]:
        """What QEMU said since then. Raises QmpError for what it refuses, or is none of its
        answers."""
        try:
            while data := self._ours.recv(1 << 16):
                self._text += data
                if len(self._text) > _MAX_LINE:
                    raise QmpError("its answer is too long")
            self._ended = True
        except BlockingIOError:
            # Nothing more for now.
            pass
        except OSError:
            self._ended = True
        *lines, self._text = self._text.split(b"\n")
        said = []
        for line in lines:
            try:
                one = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise QmpError("its answer is not JSON") from error
            if not isinstance(one, dict):
                raise QmpError("it sent something that is not a message")
            if isinstance(refusal := one.get("error"), dict):
                raise QmpError(str(refusal.get("desc"))[:500])
            said.append(one)
        return said

    def close(self) -> None:
        """No more is said."""
        self._ended = True
        self._ours.close()
        self._theirs.close()


def events(said: list[dict[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Those among messages: name and data."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for one in said:
        name, data = one.get("event"), one.get("data")
        if isinstance(name, str):
            found.append((name, data if isinstance(data, dict) else {}))
    return found


class Migration:
    """The migration that ``qmp`` was told to begin: whether it has ended, and why if badly."""

    def __init__(self, qmp: Qmp) -> None:
        self._qmp = qmp
        # Since when QEMU is asked why it failed.
        self._asked: float | None = None

    def ended(self, said: list[dict[str, Any]]) -> bool:
        """Whether it has ended well, by what QEMU has ``said`` since then. Raises QmpError when it
        failed, with QEMU's reason if it gives one."""
        for name, data in events(said):
            if name == "MIGRATION" and data.get("status") == "completed":
                return True
            if name == "MIGRATION" and data.get("status") == "failed" and self._asked is None:
                self._asked = time.monotonic()
                self._qmp.send("query-migrate")
        if self._asked is None:
            return False
        for one in said:
            told = one.get("return")
            if isinstance(told, dict) and "status" in told:
                if told["status"] != "failed":
                    # What failed was a way that QEMU had refused, and another one goes on.
                    self._asked = None
                    return False
                reason = told.get("error-desc")
                raise QmpError(f"{_FAILED}: {reason[:500]}" if isinstance(reason, str) else _FAILED)
        # Where a machine cannot be loaded, QEMU ends instead of answering.
        if not self._qmp.listening or time.monotonic() - self._asked > _ANSWER_SECONDS:
            raise QmpError(_FAILED)
        return False
