"""The script that drives ftrace, on folders that look like tracefs, which it leaves as before."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_program

from profdiff.collectors.trace.entry import Trace

FILES = {
    "available_tracers": "function_graph function nop\n",
    "available_filter_functions": "outer\nouter_too\ninner.isra.0 [made]\n",
    "current_tracer": "nop\n",
    "set_ftrace_filter": "#### all functions enabled ####\n",
    "set_ftrace_pid": "",
    "buffer_size_kb": "7 (expanded: 1408)\n",
    "tracing_on": "1\n",
    "trace_options": "nofunction-fork\noverwrite\nnofuncgraph-tail\n",
    "trace": "  1.500 us    |  outer();\n",
    "per_cpu/cpu0/stats": "entries: 2\ndropped events: 0\n",
}
# The agent: what it is started with, and what ftrace was then.
AGENT = """#!/bin/sh
echo "exit 0" > "$3"
echo "wall_ns 1000" > "$4"
[ "$(cat /sys/kernel/tracing/current_tracer)" = function_graph ] || exit 0
cp -r /sys/kernel/tracing "${0%/*}/seen"
[ -e "${0%/*}/slow" ] && sleep 60
exit 0
"""
# In a namespace of its own, where the folder is tracefs and nothing can be mounted any more.
ENTER = """
mkdir -p "$2/bin" "$2/empty" && printf '#!/bin/sh\\nexit 1\\n' > "$2/bin/mount" &&
chmod +x "$2/bin/mount" && mount --bind "$1" /sys/kernel/tracing &&
if [ -d /sys/kernel/debug ]; then mount --bind "$2/empty" /sys/kernel/debug; fi &&
PATH="$2/bin:$PATH" && exec sh "$3" "$2" "$4"
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start the script for the function names, on tracefs with these files."""
    need_program("unshare", "util-linux")
    if os.geteuid() != 0 or not Path("/sys/kernel/tracing").is_dir():
        pytest.skip("only root can mount over /sys/kernel/tracing, where it exists")
    for name in ("tracefs", "folder", "out"):
        (tmp_path / name).mkdir()
    agent = tmp_path / "folder/agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (tmp_path / "folder/buffer").write_text("1024\n")
    (tmp_path / "collector.sh").write_text(Trace().script())

    def started(names: str, **changed: str) -> subprocess.Popen[bytes]:
        for name, text in {**FILES, **changed}.items():
            file = tmp_path / "tracefs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (tmp_path / "folder/functions").write_text(names)
        places = [
            tmp_path / "tracefs",
            tmp_path / "folder",
            tmp_path / "collector.sh",
            tmp_path / "out",
        ]
        command = ["unshare", "--mount", "sh", "-c", ENTER, "sh", *map(str, places)]
        return subprocess.Popen(command, start_new_session=True)

    return started


def state(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in FILES}


def restored(folder: Path) -> None:
    """Each word that ftrace's files are given replaces the one before here."""
    left = state(folder)
    assert left["current_tracer"] == "nop\n"
    assert left["buffer_size_kb"] == "7\n"
    assert left["tracing_on"] == "1\n"
    assert left["set_ftrace_pid"] == ""


def test_only_the_named_functions_are_traced(
    run: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    assert run("outer\ninner\n").wait(60) == 0
    assert (tmp_path / "out/traced-symbols").read_text() == "outer\ninner.isra.0\n"
    assert (tmp_path / "out/trace").read_text() == ""  # a regular file was emptied
    seen = state(tmp_path / "folder/seen")
    assert seen["set_ftrace_filter"] == "outer\ninner.isra.0\n"
    assert seen["set_ftrace_pid"].strip().isdecimal()
    assert seen["buffer_size_kb"] == "1025\n"
    assert seen["tracing_on"] == "1\n"
    restored(tmp_path / "tracefs")
    assert (tmp_path / "tracefs/set_ftrace_filter").read_text() == ""


def test_a_filter_that_was_there_comes_back(
    run: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    assert run("outer\n", set_ftrace_filter="mine\nand_mine [made]\n").wait(60) == 0
    assert (tmp_path / "tracefs/set_ftrace_filter").read_text() == "mine\nand_mine\n"
    restored(tmp_path / "tracefs")


def test_an_interrupted_run_restores_ftrace(
    run: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "folder/slow").touch()
    process = run("outer\n")
    for _ in range(600):
        if (tmp_path / "folder/seen/tracing_on").exists():
            break
        time.sleep(0.05)
    os.killpg(process.pid, 15)
    assert process.wait(30) != 0
    restored(tmp_path / "tracefs")


@pytest.mark.parametrize(
    ("word", "changed"),
    [
        ("tracer", {"available_tracers": "function nop\n"}),
        ("busy", {"current_tracer": "function\n"}),
        ("functions", {"available_filter_functions": "others\n"}),
    ],
)
def test_what_cannot_be_traced_is_told(
    run: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    word: str,
    changed: dict[str, str],
) -> None:
    assert run("outer\n", **changed).wait(60) == 0
    assert (tmp_path / "out/tracefs-refusal").read_text() == f"{word}\n"
    assert state(tmp_path / "tracefs") == {**FILES, **changed}


def test_no_tracefs_is_told(run: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> None:
    process = run("outer\n")
    process.wait(60)
    shutil.rmtree(tmp_path / "tracefs")
    (tmp_path / "tracefs").mkdir()
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").mkdir()
    places = [
        tmp_path / "tracefs",
        tmp_path / "folder",
        tmp_path / "collector.sh",
        tmp_path / "out",
    ]
    command = ["unshare", "--mount", "sh", "-c", ENTER, "sh", *map(str, places)]
    assert subprocess.run(command, check=False).returncode == 0
    assert (tmp_path / "out/tracefs-refusal").read_text() == "tracefs\n"


def test_only_root_can_trace() -> None:
    need_program("setpriv", "util-linux")
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o777)
        (folder / "collector.sh").write_text(Trace().script())
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh"]
        subprocess.run([*command, folder / "collector.sh", folder, folder], check=True)
        assert (folder / "tracefs-refusal").read_text() == "rights\n"
