"""A real sshd on loopback, with keys and configuration of its own."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import need_program


@dataclass(frozen=True)
class Server:
    """A real sshd on loopback, and an environment whose ssh knows it."""

    folder: Path
    port: int

    @property
    def spec(self) -> str:
        return f"ssh://127.0.0.1:{self.port}"

    def environment(self, config: str = "config") -> dict[str, str]:
        """A PATH whose ssh is the system's, with the configuration of that name."""
        programs = self.folder / f"bin-{config}"
        programs.mkdir(exist_ok=True)
        wrapper = programs / "ssh"
        real = shutil.which("ssh")
        wrapper.write_text(f'#!/bin/sh\nexec {real} -F {self.folder / config} "$@"\n')
        wrapper.chmod(0o755)
        return {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}

    def left_behind(self) -> list[Path]:
        """What is left of the folders that runs made over there."""
        return sorted(self.folder.glob("tmp/profdiff.*"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """sshd with keys and configuration of its own; what its sessions make goes to ``tmp``."""
    need_program("ssh", "openssh-client")
    need_program("ssh-keygen", "openssh-client")
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if sshd is None:
        pytest.skip("sshd is not installed (apt-get install openssh-server)")
    folder = tmp_path / "ssh"
    (folder / "tmp").mkdir(parents=True)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(command, check=True)
    shutil.copyfile(folder / "user.pub", folder / "authorized")
    port = 20_000 + os.getpid() % 20_000
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPermitRootLogin yes\nSetEnv TMPDIR={folder / 'tmp'}\n"
    )
    host = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {host}")
    (folder / "empty").touch()
    (folder / "log").touch()
    for name, known in (("config", "known"), ("config-unknown", "empty")):
        (folder / name).write_text(
            f"Host *\n IdentityFile {folder}/user\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {folder}/{known}\n StrictHostKeyChecking yes\n"
        )
    (folder / "config-nokey").write_text(
        f"Host *\n IdentityFile {folder}/host\n IdentitiesOnly yes\n"
        f" UserKnownHostsFile {folder}/known\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([sshd, "-D", "-f", folder / "sshd_config", "-E", folder / "log"])
    try:
        for _ in range(100):
            if "Server listening" in (folder / "log").read_text():
                break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield Server(folder, port)
    finally:
        process.terminate()
        process.wait()


def children_of_sshd(server: Server) -> list[int]:
    """The processes of sshd that serve a connection: its descendants of its own name."""
    parent = int((server.folder / "pid").read_text())
    found = []
    pending = [parent]
    while pending:
        command = ["pgrep", "-P", str(pending.pop())]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for pid in map(int, text.split()):
            name = Path(f"/proc/{pid}/comm")
            if name.is_file() and name.read_text().startswith("sshd"):
                found.append(pid)
                pending.append(pid)
    return found
