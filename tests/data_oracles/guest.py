"""A guest that logs which addresses its kernel accesses, and whose memory is kept."""

import json
import os
import selectors
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support import IMPORTED

from profdiff.collectors.guest.qemu import Qemu

_HERE = Path(__file__).parent
MEMORY = 256
_SECONDS = 240.0
_CODE = np.dtype([("pc", "<u8"), ("code", "u1", 16), ("logged", "<u4"), ("executed", "<u4")])
_LOG = np.dtype([("pc", "<u8"), ("address", "<u8"), ("size", "<u4"), ("store", "<u4")])


@dataclass(frozen=True)
class Logged:
    """``pc``: uint64[N] and ``code``: uint8[N, 16] (length and bytes) of the kernel's instructions
    that ran; ``log``: what they accessed; ``before`` and ``after``: files with the guest's
    memory."""

    pc: NDArray[np.uint64]
    code: NDArray[np.uint8]
    log: NDArray[np.void]
    before: Path
    after: Path


def logged(qemu: Qemu, image: Path, folder: Path) -> Logged:
    """Boot a kernel, and log what its system calls access."""
    plugin, archive = _plugin(qemu, folder), _archive(folder)
    ours, theirs = socket.socketpair()
    arguments = [
        *("-M", "q35", "-cpu", "max,la57=off", "-m", str(MEMORY), "-smp", "1", "-nographic"),
        *("-no-reboot", "-nodefaults", "-serial", "stdio", "-kernel", str(image)),
        *("-initrd", str(archive), "-plugin", f"file={plugin}"),
        *("-append", "console=ttyS0 nokaslr slab_nomerge quiet panic=-1 tsc=reliable"),
        *("-chardev", f"socket,id=monitor,fd={theirs.fileno()}"),
        *("-mon", "chardev=monitor,mode=control"),
    ]
    process = subprocess.Popen(
        [qemu.program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[theirs.fileno()],
        bufsize=0,
    )
    theirs.close()
    monitor = _Monitor(ours)
    try:
        before, after = folder / "before", folder / "after"
        assert process.stdin and process.stdout
        _wait(process.stdout.fileno(), b"ready")
        monitor.dump(before)
        process.stdin.write(b"\n")
        _wait(process.stdout.fileno(), b"done.")
        monitor.dump(after)
        monitor.ask("quit")
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        monitor.close()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
    code = np.fromfile(folder / "code", _CODE)
    log = np.fromfile(folder / "log", _LOG)
    order = np.argsort(code["pc"])
    return Logged(code["pc"][order], code["code"][order], log, before, after)


class _Monitor:
    """QEMU's, of which each command is answered."""

    def __init__(self, ours: socket.socket) -> None:
        self._ours = ours
        self._lines = ours.makefile("r")
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: object) -> None:
        told = {"execute": command, "arguments": arguments}
        self._ours.sendall(json.dumps(told).encode() + b"\n")
        for line in self._lines:
            answer = json.loads(line)
            if "return" in answer or "error" in answer:
                assert "return" in answer, answer
                return

    def close(self) -> None:
        self._lines.close()
        self._ours.close()

    def dump(self, path: Path) -> None:
        """Keep the guest's memory, which stands still meanwhile."""
        self.ask("stop")
        self.ask("pmemsave", val=0, size=MEMORY << 20, filename=str(path))
        self.ask("cont")


def _wait(descriptor: int, word: bytes) -> None:
    """Until the console says a word."""
    said, end = b"", time.monotonic() + _SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while word not in said:
            assert selector.select(max(end - time.monotonic(), 0)), said[-2000:]
            more = os.read(descriptor, 1 << 16)
            assert more, said[-2000:]
            said += more


def _plugin(qemu: Qemu, folder: Path) -> Path:
    """QEMU 7.2 and 10 take versions 1 and 4 of its interface (docs/devel/tcg-plugins.rst)."""
    source, plugin = _HERE / "addresses_plugin.c", folder / "plugin.so"
    api = 1 if qemu.plugin_api == 1 else 4
    names = [f'-D{name}="{folder / name.lower()}"' for name in ("LOG", "CODE")]
    command = ["cc", "-O2", "-shared", "-fPIC", f"-DPLUGIN_API={api}", *names]
    subprocess.run([*command, "-o", plugin, source], check=True)
    return plugin


def _archive(folder: Path) -> Path:
    """The initial files: ``init``, and the console."""
    program, archive = folder / "init", folder / "initrd"
    include = IMPORTED / "profdiff/collectors/guest"
    command = ["cc", "-O2", "-w", "-static", "-I", include, "-o", program]
    subprocess.run([*command, _HERE / "addresses_init.c"], check=True)
    entries = [
        _entry("dev", 0o040755),
        _entry("dev/console", 0o020600, device=(5, 1)),
        _entry("init", 0o100755, program.read_bytes()),
        _entry("TRAILER!!!", 0),
    ]
    archive.write_bytes(b"".join(entries))
    return archive


def _entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    """Documentation/driver-api/early-userspace/buffer-format.rst."""
    fields = [1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % number for number in fields) + name.encode() + b"\0"
    head += bytes(-len(head) % 4)
    return head + data + bytes(-len(data) % struct.calcsize("I"))
