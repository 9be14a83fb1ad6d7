"""Traces of strace as workloads: what is read of them, and that a replay makes the same calls."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support import IMPORTED, error_line, need_program, profdiff

from profdiff.base.errors import InputError
from profdiff.recording.replay import Script, written
from profdiff.recording.replay_calls import TracedCall, arguments, read, string
from profdiff.session.session import Session

TRACE = """\
7 openat(AT_FDCWD, "/etc/a\\303\\244 b", O_RDONLY|O_CLOEXEC) = 3
7 newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=5000, ...}, AT_EMPTY_PATH) = 0
7 mmap(NULL, 5000, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000
7 read(3,  <unfinished ...>
8 +++ exited with 0 +++
7 <... read resumed>"x, (\\"y"..., 4096) = 4096
7 close(3)                          = 0
7 munmap(0x7f0000000000, 5000)      = 0
7 munmap(0x7e0000000000, 5000)      = 0
7 stat("/none", 0x7ffc) = -1 ENOENT (No such file or directory)
7 unlink("/sys/power/state") = 0
7 socket(AF_INET, SOCK_STREAM, 0) = 4
7 read(4, "", 10) = 0
7 write(1, "x", 1) = 1
7 exit_group(0) = ?
"""


def script(tmp_path: Path, text: str) -> Script:
    (tmp_path / "a.strace").write_text(text)
    made = Script()
    for call in read(tmp_path / "a.strace"):
        made.add(call)
    return made


def test_a_line_is_read_as_strace_writes_it() -> None:
    assert arguments('3</a, b>, {a=1, b=[2, 3]}, "x, \\", y"..., 5 /* 2, 3 */') == [
        *("3</a, b>", "{a=1, b=[2, 3]}", '"x, \\", y"...', "5 /* 2, 3 */")
    ]
    assert string('"\\303\\244\n\\x41"') == "ä\nA"
    assert string('"cut"...') is None


def test_calls_are_joined_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    made = script(tmp_path, TRACE)
    calls = list(read(tmp_path / "a.strace"))
    assert TracedCall(7, "read", ["3", '"x, (\\"y"...', "4096"], "4096") in calls
    told = made.replayed
    assert (told.calls, told.replayed) == (13, 7)
    assert told.left_out == {
        "munmap of memory that no replayed call maps": 1,
        "files of /sys": 1,
        "socket": 1,
        "read of a descriptor from before, or that is not replayed": 1,
        "write of a descriptor from before, or that is not replayed": 1,
        "exit_group": 1,
    }
    assert told.told.startswith("replays 7 of 13 calls of the trace; left out: 1 ")
    lines = made.text().splitlines()
    number = lines.index("P /etc/a%C3%A4%20b") - 1
    assert f"F {number} 5000 4096" in lines
    assert f"N {lines.index('P /none') - 1}" in lines
    assert "C mmap 0 m0,8192 v0 v5000 v1 v2 f0 v0" in lines
    assert not any("unlink" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no calls\n", "has no system calls: give what strace -f -o FILE writes"),
        ("1 futex(0x1, FUTEX_WAIT) = 0\n", "nothing of the trace can be replayed"),
        (
            '1 open("/a", O_RDONLY) = 3\n'
            + "".join(f'1 pread64(3, "", 9, {n}) = 9\n' for n in (1, 1 << 30)),
            "reads 1,024 MiB of files",
        ),
    ],
)
def test_what_is_no_workload_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a.strace").write_text(text)
    with pytest.raises(InputError, match=re.escape(says)):
        written(tmp_path / "a.strace", tmp_path)


def test_a_reader_does_not_wait_for_another_process(tmp_path: Path) -> None:
    told = script(
        tmp_path,
        "5 pipe2([3, 4], O_CLOEXEC) = 0\n5 clone(child_stack=NULL, flags=SIGCHLD) = 6\n"
        '6 write(4, "ab", 2) = 2\n5 read(3, "ab", 9) = 2\n5 read(3, "", 9) = 0\n'
        "6 close(3) = 0\n6 exit_group(0) = ?\n5 close(4) = 0\n",
    ).replayed
    assert told.left_out == {
        "clone": 1,
        "read of a pipe whose writer is not replayed": 1,
        "close of a descriptor that another process has": 1,
        "exit_group": 1,
    }


# What a shell, its programs and dash's descriptors do.
WORK = """
mkdir made; echo some text > made/a; cat made/a sub/big > made/b; mv made/b made/c
rm made/a made/c; rmdir made; ls -lR sub > /dev/null; test -e none; cat sub/link | wc -c
"""


@pytest.mark.build
def test_a_replay_makes_the_calls_of_the_trace(tmp_path: Path) -> None:
    """By strace's own word: of the program, and of what replays it, twice."""
    strace = need_program("strace")
    need_program("cc", "gcc")
    if subprocess.run(["unshare", "-rmpf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare -rmpf makes no namespace here")
    place = tmp_path / "work"
    (place / "sub/deep").mkdir(parents=True)
    (place / "sub/big").write_bytes(b"x" * 300_000)
    (place / "sub/link").symlink_to("big")
    trace = tmp_path / "sh.strace"
    subprocess.run(
        [strace, "-f", "-y", "-o", trace, "sh", "-c", WORK],
        cwd=place,
        check=True,
        env={"PATH": "/bin"},
    )  # fmt: skip
    file, told = written(trace, tmp_path)
    assert told.replayed > 0.6 * told.calls > 100
    here = IMPORTED / "profdiff/collectors/guest"
    subprocess.run(
        ["cc", "-O1", "-static", f"-I{here}", "-o", tmp_path / "replay", here / "replay.c"],
        check=True,
    )
    again = tmp_path / "again.strace"
    lines = [line for line in file.read_text().splitlines() if line[0] not in "V"]
    head = lines[0].split()
    head[3] = str(int(head[3]) - 1)
    (tmp_path / "script").write_text("\n".join([" ".join(head), *lines[1:], ""]))
    run = subprocess.run(
        [strace, "-f", "-o", again, "unshare", "-rmpf", "./replay", "script", "2"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    differing = int(re.search(r"(\d+) with another outcome", run.stdout)[1])
    # /dev/null is not there without its device.
    assert differing <= 12, run.stdout
    wanted = [line.split()[1] for line in lines if line.startswith("C ")]
    made = [call.name for call in read(again)]
    text = "\n".join(made)
    assert text.count("\n".join(wanted)) == 3
    counts = Counter(wanted)
    assert {"mkdir", "rmdir", "getdents64", "pipe2", "read", "write", "mmap"} <= set(counts)
    assert sorted(path.name for path in (tmp_path / "replay.root").iterdir()) != []
    assert not (tmp_path / "made").exists()


@pytest.mark.guest
@pytest.mark.usefixtures("qemu")
def test_it_is_recorded_on_two_kernels(tmp_path: Path, old_kernel: Path) -> None:
    strace = need_program("strace")
    subprocess.run(
        [strace, "-f", "-y", "-o", tmp_path / "true.strace", "cat", "/etc/passwd"],
        check=True, capture_output=True,
    )  # fmt: skip
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel},append=nosmt"]
    words = ["record", *kernels, "--no-observe", "--replay", "true.strace", "--ops", "3"]
    said = profdiff(*words, cwd=tmp_path)
    assert re.search(r"note: replays \d+ of \d+ calls of the trace; left out: ", said.stderr)
    session = Session.open(tmp_path / "true.profdiff")
    replay = session.manifest.workload.replay
    assert replay is not None
    assert replay.calls == replay.replayed + sum(replay.left_out.values())
    (first, *_) = session.manifest.runs
    output = session.path(first.files["stdout"]).read_text()
    assert output == f"{replay.replayed} calls, 0 with another outcome than in the trace\n"
    assert first.window and first.window.count == 3
    assert "replays" in profdiff("report", cwd=tmp_path).stdout
    mail = profdiff("mail", "true.profdiff", cwd=tmp_path).stdout
    assert "profdiff record" in mail
    assert "--replay true.strace" in " ".join(mail.split())
    assert "The trace is the sender's" in mail


def test_what_a_trace_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TRACE)
    words = ["record", "--replay", "t", "--kernel", "a=x", "--kernel", "b=y"]
    said = profdiff(*words, "--sweep", "a=1,2", cwd=tmp_path, status=2)
    assert "--replay and --sweep: the trace is the workload" in error_line(said)
    assert shutil.which("sh")
    said = profdiff("record", "--replay", "t", "--kernel", "a=running", cwd=tmp_path, status=2)
    assert "a trace is replayed in guests" in error_line(said)
