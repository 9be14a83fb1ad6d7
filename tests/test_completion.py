"""profdiff completion: what real shells make of a line when Tab is pressed, at a terminal."""

import contextlib
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import error_line, need_program, profdiff
from tars import unpack_session

# How each starts with nothing but our script, which it reads from the file $SCRIPT.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'PS1="> "; source "$SCRIPT"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'PS1="> "; bindkey -e; autoload -U compinit; compinit -D -u; source "$SCRIPT"',
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        'function fish_prompt; echo -n "> "; end; source "$SCRIPT"',
    ),
}
READY = "the-shell-is-ready"
LIMIT = 60.0


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, shell: str, folder: Path) -> None:
        command, setup = SHELLS[shell]
        script = folder / f"script.{shell}"
        script.write_text(profdiff("completion", shell).stdout)
        environment = {**os.environ, "SCRIPT": str(script), "TERM": "dumb", "HOME": str(folder)}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        self.process, self.file = pty.fork()
        if not self.process:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)  # noqa: S606
        self.send(f"{setup}; echo {READY[:5]}''{READY[5:]}\n")
        self.until(READY)

    def send(self, keys: str) -> None:
        os.write(self.file, keys.encode())

    def until(self, pattern: str) -> str:
        """All that it shows until that matches, with what matched."""
        shown, end = "", time.monotonic() + LIMIT
        while not re.search(pattern, shown):
            ready, _, _ = select.select([self.file], [], [], max(0, end - time.monotonic()))
            assert ready, f"{pattern!r} does not come: {shown!r}"
            shown += os.read(self.file, 65536).decode(errors="replace")
        return shown

    def completed(self, typed: str) -> list[str]:
        """The words of the line after Tab. The shell prints them itself: the line's own text would
        be among codes that move the cursor."""
        self.send(f"{typed}\t")
        self.send("\x01printf '<%s>' begin \x05 end\n")
        (line,) = re.findall("<begin>(.*)<end>", self.until("<begin>.*<end>"))
        return re.findall("<([^<>]*)>", line)


@contextlib.contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    need_program(shell)
    opened = Terminal(shell, folder)
    try:
        yield opened
    finally:
        os.kill(opened.process, signal.SIGKILL)
        os.waitpid(opened.process, 0)
        os.close(opened.file)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a session, a folder with a kernel, a file, and a kernel that has a name."""
    monkeypatch.setenv("PROFDIFF_CONFIG", str(tmp_path / "config"))
    profdiff("kernel", "add", "good-one", "debian:sid")
    (tmp_path / "kernels/v9").mkdir(parents=True)
    (tmp_path / "odd.perf.data").touch()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_at_a_terminal(shell: str, folder: Path) -> None:
    unpack_session(folder / "mine.profdiff")
    with terminal(shell, folder) as at:
        for typed, completed in (
            ("rec", "record"),
            ("kernel fe", "kernel fetch"),
            ("report --so", "report --sort"),
            ("report --sort total-", "report --sort total-delta"),
            ("record --kernel goo", "record --kernel good-one"),
            ("record --kernel a=goo", "record --kernel a=good-one"),
            ("record --kernel a=debian:s", "record --kernel a=debian:sid"),
            ("record --kernel k", "record --kernel kernels/"),
            ("record --kernel b=kernels/", "record --kernel b=kernels/v9/"),
            ("kernel remove g", "kernel remove good-one"),
            ("report m", "report mine.profdiff"),
            ("report mine.profdiff prob", "report mine.profdiff probes"),
            ("check --kernel n", "check --kernel new"),
            ("check --fail-if instructions:tota", "check --fail-if instructions:total"),
            ("check --fail-if instructions:vm_n", "check --fail-if instructions:vm_normal_page"),
            ("diff od", "diff odd.perf.data"),
            ("completion zs", "completion zsh"),
        ):
            assert at.completed(f"profdiff {typed}") == ["profdiff", *completed.split()], typed


def test_all_kernels_are_shown(folder: Path) -> None:
    """Two presses list what bash can choose from."""
    with terminal("bash", folder) as at:
        at.send("profdiff record --kernel \t\t")
        # In columns, in whatever order.
        names = ("running", "good-one", "debian:trixie-backports", "kernels/")
        at.until("(?s)" + "".join(f"(?=.*{name})" for name in names))


def test_a_shell_that_has_none() -> None:
    assert "'bash', 'zsh', 'fish'" in error_line(profdiff("completion", "tcsh", status=2))


def test_what_cannot_be_read_is_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "config/kernels.json").write_text("damaged")
    (folder / "s").mkdir()
    (folder / "s/manifest.json").write_text("damaged")
    line = {"_PROFDIFF_COMPLETE": "bash_complete", "COMP_WORD": ""}
    for typed in ("kernel remove ", "check s --kernel ", "check s --fail-if x:"):
        result = profdiff(env={**line, "COMP_LINE": f"profdiff {typed}"}, cwd=folder)
        assert result.stdout.strip() == result.stderr == ""
