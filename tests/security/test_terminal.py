"""Nothing that strangers chose moves a cursor, wherever it comes out."""

import ast
import json
import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from support import ROOT, profdiff
from synthetic import frame
from synthetic_session import exact_session

from profdiff.base.terminal import cleaned, printable

# Clears the screen, goes up, rings, hides what follows; C1's CSI; a right-to-left override.
NASTY = "\x1b[2J\x1b[1A\a\x07\x9b31mé\u202eevil\x7f"
SAFE = "\\u{1b}[2J\\u{1b}[1A\\u{7}\\u{7}\\u{9b}31mé\\u{202e}evil\\u{7f}"


FORBIDDEN = {
    *("print", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "os.write"),
    *("click.echo", "click.secho", "click.confirm", "click.prompt", "echo"),
    *("traceback.print_exc", "warnings.warn"),
}


def unsafe(text: str) -> set[str]:
    """The characters of a text that do something instead of being shown."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"}


def test_printable() -> None:
    assert printable(NASTY) == SAFE
    assert printable("a\nb\tc") == "a\\u{a}b\\u{9}c"
    assert printable("change_pte_range é 函数") == "change_pte_range é 函数"
    assert cleaned(f"a\n\t{NASTY}\n") == f"a\n\t{SAFE}\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that says nasty things wherever it may say anything."""
    rows = {
        "base": [([frame(f"f{NASTY}", owner=f"o{NASTY}", file=f"m{NASTY}.c")], "s", True, [9])],
        "new": [([frame(f"f{NASTY}", owner=f"o{NASTY}", file=f"m{NASTY}.c")], "s", True, [19])],
    }
    said = NASTY.encode()
    files = dict.fromkeys(("stdout", "stderr", "cmdline", "state", "usage", "observed"), said)
    files["environment"] = b"processor: " + said
    folder = exact_session(tmp_path / "s.profdiff", rows, files).folder
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["workload"]["argv"] = [f"./w{NASTY}", NASTY]
    manifest["command"] = ["profdiff", NASTY]
    manifest["created"] = NASTY
    for kernel in manifest["kernels"]:
        for field in ("spec", "release", "version", "compiler"):
            kernel[field] = f"Linux {NASTY}"
    failed = dict(manifest["runs"][0], id="base-9", repetition=9, files={})
    failed["failure"] = {"kind": "boot", "message": NASTY, "console": [NASTY]}
    failed["window"] = failed["instructions"] = None
    for run in manifest["runs"]:
        run["qemu"]["version"] = f"QEMU emulator version {NASTY}"
    manifest["runs"].append(failed)
    path.write_text(json.dumps(manifest))
    return folder


COMMANDS = [
    ["report"],
    ["report", "--ascii"],
    ["report", "--csv", "-"],
    ["report", "--folded-diff", "-"],
    ["report", "--text", "-"],
    ["check", "--fail-if", "instructions > +900%"],
    ["mail", "-o", "-", "--from", "A <a@example.org>", "--to", "b@example.org"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_what_a_session_says(session: Path, command: list[str]) -> None:
    result = profdiff(command[0], session, *command[1:])
    assert len(result.stdout) > 20
    assert unsafe(result.stdout + result.stderr) == set()


@pytest.mark.slow
def test_errors(session: Path, tmp_path: Path) -> None:
    """Names of files, a manifest's words, an exception's text; with the trace as well."""
    manifest = json.loads((session / "manifest.json").read_text())
    for kernel in manifest["kernels"]:
        kernel["symbols"], kernel["debug_elf"] = None, f"/gone/{NASTY}".replace("/g", "//g")
    (session / "manifest.json").write_text(json.dumps(manifest))
    odd = tmp_path / f"x{NASTY}"
    odd.write_bytes(b"\x7fELF" + NASTY.encode())
    wanted: list[list[str | Path]] = [
        ["report", session],
        ["report", odd],
        ["diff", odd],
        ["diff", "a=/dev/null", odd],
        ["check", session, "--fail-if", f"instructions:{NASTY} > +1%"],
        ["import", odd, "-o", tmp_path / "out"],
        ["record", "--kernel", f"a={odd}", "--kernel", "b=/x", "--", "x"],
        ["record", "--kernel", "a=running", "-o", session],
        ["report", f"--{NASTY}"],
        ["kernel", "add", "name", NASTY],
        ["kernel", "list"],
        ["kernel", "remove", NASTY],
    ]
    env = {"PROFDIFF_CONFIG": str(tmp_path), "PROFDIFF_STATE": str(tmp_path)}
    for arguments in wanted:
        for debug in ([], ["--debug"]):
            command = [sys.executable, "-m", "profdiff", *debug, *map(str, arguments)]
            result = subprocess.run(
                command,
                capture_output=True,
                check=False,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
            )
            shown = (result.stdout + result.stderr).decode()
            assert result.returncode or arguments[0] == "kernel", arguments
            assert shown
            assert unsafe(shown) == set(), (arguments, shown)


def on_a_terminal(*arguments: str | Path) -> bytes:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "profdiff", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # EIO: nobody has the other end open any more.
            break
        if not data:
            break
        shown += data
    process.wait()
    os.close(ours)
    return shown


@pytest.mark.parametrize("form", ["--json", "--html", "--svg", "--folded-diff", "--pprof"])
def test_whatever_file_goes_to_a_terminal(session: Path, form: str) -> None:
    shown = on_a_terminal("report", session, form, "-").replace(b"\r\n", b"\n")
    assert len(shown) > 50
    assert unsafe(shown.decode(errors="backslashreplace")) == set()


def test_a_pipe_gets_a_file_as_it_is(session: Path, tmp_path: Path) -> None:
    for form in ("--folded-diff", "--pprof"):
        profdiff("report", session, form, tmp_path / "file")
        command = [sys.executable, "-m", "profdiff", "report", str(session), form, "-"]
        piped = subprocess.run(command, capture_output=True, check=True).stdout
        assert piped == (tmp_path / "file").read_bytes()


@pytest.mark.slow
def test_there_is_one_way_out() -> None:
    """Only profdiff.base.terminal writes to standard output and error, and only
    profdiff.base.console makes one of rich's consoles."""
    folders = [ROOT / name for name in ("profdiff", "base", "collectors", "symbolization")]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(modules) > 150
    others = [path for path in modules if path.name not in ("terminal.py", "console.py")]
    for path in others:
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            assert name not in FORBIDDEN, f"{where}: {name}: use profdiff.base.terminal"
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                taken = {alias.name for alias in node.names}
                assert "Console" not in taken, f"{where}: use profdiff.base.console"
