"""Traces of strace as workloads: what is read of them, and that a replay makes the same calls."""

import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from support import IMPORTED, error_line, need_program, profdiff

from profdiff.base.errors import InputError
from profdiff.commands.plan import plan
from profdiff.recording import replay
from profdiff.recording.replay import Script, written
from profdiff.recording.replay_calls import TracedCall, arguments, read, string
from profdiff.session.manifest import Replayed
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
        (
            "".join(
                f'1 open("/{n}{"/" + "/".join(["x" * 14] * 250)}", 0) = 3\n' for n in range(200)
            ),
            "the trace has more than 100,000 files, or longer names",
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


ARGUMENTS_THAT_FAIL = {
    # A length, a mode or digits that no kernel takes.
    "1 umask(-07) = 0\n": "",
    "1 umask(\u0663) = 0\n": "arguments that are not known",
    '3 openat(AT_FDCWD, "/a", O_RDONLY) = 3\n3 read(3, "", 18446744073709551615) = 0\n': (
        "read of more than 16 MiB"
    ),
    '3 getrandom("", 16777217, 0) = 9\n': "getrandom of more than 16 MiB",
    f'3 read(3</{"a/" * 60_000}>, "x", 1) = 1\n': "a path that is too long",
    "3 fcntl(3</a>, F_SETLKW, {l_type=F_WRLCK}) = 0\n": "fcntl with another command",
    "3 fcntl(3</a>, 7, 0) = 0\n": "fcntl with another command",
    '3 openat(AT_FDCWD, "//proc/kmsg", O_RDONLY) = 3\n': "files of /proc",
    '3 readlink("/l", "/proc/1/root", 99) = 12\n': "files of /proc",
    '3 readlink("/l", "proc", 99) = 4\n': "files of /proc",
    '3 readlink("/m", "/l", 9) = 2\n3 readlink("/l", "/m", 9) = 2\n3 stat("/l/x", 0) = 0\n': (
        "a path with too many links"
    ),
    '3 openat(AT_FDCWD, "/proc/self/fd/0", O_RDONLY) = 3\n': "files of /proc",
    '3 readlink("/a/b/l", "../proc/1", 99) = 9\n3 rename("/a/b", "/a") = 0\n': (
        "rename of a symbolic link"
    ),
}


@pytest.mark.parametrize(("text", "reason"), ARGUMENTS_THAT_FAIL.items())
def test_a_call_that_harms_is_left_out(tmp_path: Path, text: str, reason: str) -> None:
    made = script(tmp_path, f"1 getpid() = 1\n{text}")
    assert dict(made.left_out) == ({reason: 1} if reason else {})
    made.text()


def tree_lines(made: Script) -> dict[str, list[str]]:
    """What is made of each path: a script's lines, without the number."""
    lines = made.text().splitlines()
    paths = [line[2:] for line in lines if line.startswith("P ")]
    found: dict[str, list[str]] = {}
    for line in lines:
        letter, _, rest = line.partition(" ")
        number, _, more = rest.partition(" ")
        if letter in "DFLNE":
            told = f"{letter} {paths[int(more)] if letter == 'L' else more}".strip()
            found.setdefault(paths[int(number)], []).append(told)
    return found


def test_a_path_with_two_slashes_is_a_path(tmp_path: Path) -> None:
    made = script(tmp_path, '1 openat(AT_FDCWD, "//etc/x", O_RDONLY) = 3\n1 fsync(4<//b/c>) = 0\n')
    found = tree_lines(made)
    assert {"/etc": ["D"], "/etc/x": ["F 0 0"], "/b": ["D"], "/b/c": ["F 0 0"]}.items() <= (
        found.items()
    )


def test_a_call_without_its_end_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.strace").write_text(
        f'1 read(3, "{"x" * 100_000} <unfinished ...>\n1 <... read resumed>, 3) = 3\n'
    )
    calls = list(read(tmp_path / "a.strace"))
    assert [sum(map(len, call.arguments)) < 10_000 for call in calls] == [True, True]
    assert calls[-1].result == "3"


def test_files_below_a_link_are_those_of_its_target(tmp_path: Path) -> None:
    made = script(
        tmp_path,
        '1 readlink("/k/l", "sub", 99) = 3\n1 readlink("/k/m", "/k/l/deep", 99) = 9\n'
        '1 openat(AT_FDCWD, "/k/l/f", O_RDONLY) = 3\n1 stat("/k/m/g", {}) = 0\n'
        '1 openat(AT_FDCWD, "/k/m", O_RDONLY|O_DIRECTORY) = 4\n1 fstat(4, {}) = 0\n'
        '1 openat(4, "../h", O_RDONLY) = 5\n',
    )
    assert tree_lines(made) == {
        **{"/work": ["D"], "/k": ["D"], "/k/sub": ["D"], "/k/sub/deep": ["D"]},
        **{"/k/sub/f": ["F 0 0"], "/k/sub/deep/g": ["F 0 0"], "/k/sub/h": ["F 0 0"]},
        **{"/k/l": ["L sub"], "/k/m": ["L /k/l/deep"]},
    }


def test_folders_that_a_path_passes_are_there(tmp_path: Path) -> None:
    found = tree_lines(script(tmp_path, '1 openat(AT_FDCWD, "/a/b/../c", O_RDONLY) = 3\n'))
    assert found["/a/b"] == ["D"]
    assert found["/a/c"] == ["F 0 0"]


def test_the_current_folder_is_made(tmp_path: Path) -> None:
    made = script(tmp_path, '1 getpid() = 1\n1 openat(3</processed>, "a", O_RDONLY) = 4\n')
    assert tree_lines(made) == {"/work": ["D"], "/processed": ["D"], "/processed/a": ["F 0 0"]}
    made = script(tmp_path, '1 mkdir("/work", 0777) = 0\n1 getpid() = 1\n')
    lines = made.text().splitlines()
    assert lines.index("P /") - 1 == int(next(one for one in lines if one[0] == "W")[2:])


def test_entries_are_those_of_all_calls_since_the_folders_begin(tmp_path: Path) -> None:
    listing = "".join(
        f"1 getdents64(3, 0x55 /* {number} entries */, 32768) = {32 * number}\n"
        for number in (1365, 1365, 272, 0)
    )
    opened = '1 openat(AT_FDCWD, "/d", O_RDONLY|O_DIRECTORY) = 3\n'
    made = script(tmp_path, f"{opened}{listing}1 lseek(3, 0, SEEK_SET) = 0\n{listing}")
    assert "E 3000" in tree_lines(made)["/d"]
    many = "".join(
        f'1 open("/d{n}", O_RDONLY) = 3\n1 getdents64(3, 1 /* 20002 entries */, 9) = 1\n'
        for n in range(30)
    )
    found = [line for lines in tree_lines(script(tmp_path, many)).values() for line in lines]
    assert sum(int(line[2:]) for line in found if line.startswith("E")) == 200_000


def test_what_a_process_leaves_open_is_closed_and_its_slot_is_free(tmp_path: Path) -> None:
    opened = "".join(
        f'{n} openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3\n{n} execve("/b", [], 0x1) = 0\n'
        f'{n} openat(AT_FDCWD, "/a", O_RDONLY) = 3\n{n} dup2(3, 9) = 9\n{n} exit_group(0) = ?\n'
        for n in range(10, 1010)
    )
    made = script(tmp_path, f"{opened}9 fsync(5</c>) = 0\n")
    lines = made.text().splitlines()
    assert lines[0].split()[4] == "3"
    assert sum(line.startswith("X ") for line in lines) == 3000
    assert sum(line.startswith("C ") for line in lines) == made.replayed.replayed == 3001
    # One that is open from the start has a slot that no call had.
    assert re.match(r"O \d+ 2 2$", next(line for line in lines if line.startswith("O ")))


def test_a_replay_does_not_wait(tmp_path: Path) -> None:
    made = script(
        tmp_path,
        '1 eventfd2(0, EFD_CLOEXEC) = 3\n1 read(3, "", 8) = 8\n1 pipe2([4, 5], 0) = 0\n'
        '1 fcntl(4, F_SETFL, O_RDONLY) = 0\n1 write(5, "ab", 2) = 4\n'
        '1 read(4, "ab", 2) = 2\n1 read(4, "ab", 2) = 2\n',
    )
    assert made.left_out == {"read of a pipe whose writer is not replayed": 1}
    text = made.text()
    assert f"C eventfd2 0 f0 v0 v{0o2004000}\n" in text
    assert f"C fcntl 0 - f1 v4 v{0o4000}\n" in text


@pytest.mark.parametrize("text", [") = a<" * 150_000, ") = 0 {S_IFREG" * 70_000, "[1<" * 300_000])
def test_a_long_line_takes_linear_time(tmp_path: Path, text: str) -> None:
    begin = time.process_time()
    script(tmp_path, f'1 getpid() = 1\n1 stat("/a", {{{text}}}) = 0\n1 pipe2({text}) = 0\n')
    assert time.process_time() - begin < 10


def test_memory_that_a_call_fails_to_unmap_is_there(tmp_path: Path) -> None:
    mapped = "1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000\n"
    unmap = "1 munmap(0x7f0000000000, 4096) ="
    made = script(tmp_path, f"{mapped}{unmap} -1 EINVAL (Invalid argument)\n{unmap} 0\n{unmap} 0\n")
    assert made.left_out == {"munmap of memory that no replayed call maps": 1}


def test_a_trace_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by plan, which asks first what it would build, and then plans."""
    read_traces = []

    def counted(trace: Path, folder: Path) -> tuple[Path, Replayed]:
        read_traces.append(trace)
        return written(trace, folder)

    monkeypatch.setattr(replay, "written", counted)
    (tmp_path / "x.strace").write_text("1 getpid() = 1\n")
    for label in "ab":
        (tmp_path / label).write_bytes(b"MZ" + bytes(54) + b"ARM\x64" + label.encode() * 4036)
    words = ["--replay", str(tmp_path / "x.strace")]
    words += [word for one in "ab" for word in ("--kernel", f"{one}={tmp_path / one}")]
    context = plan.make_context("plan", words)
    with context, pytest.raises(InputError, match="traces are of x86-64"):
        plan.invoke(context)
    assert read_traces == [tmp_path / "x.strace"]


@pytest.mark.parametrize("words", [[], ["--arch", "arm64"]])
def test_traces_are_of_one_architecture(tmp_path: Path, words: list[str]) -> None:
    """Said before the replayer is compiled, which would say that calls have no number."""
    for label in "ab":
        (tmp_path / label).write_bytes(b"MZ" + bytes(54) + b"ARM\x64" + label.encode() * 4036)
    (tmp_path / "x.strace").write_text("1 getpid() = 1\n")
    kernels = ["--kernel", "a=a", "--kernel", "b=b", "--replay", "x.strace"]
    done = profdiff("plan", *kernels, *words, cwd=tmp_path, status=2)
    assert error_line(done) == "--replay: traces are of x86-64: name kernels of x86-64"


def test_reasons_are_at_most_what_a_recording_can_hold(tmp_path: Path) -> None:
    calls = "".join(f"1 call_{n}() = 0\n" for n in range(1500))
    made = script(tmp_path, f'1 getpid() = 1\n{calls}1 stat("/a", 0) = -1 E{"A" * 100_000}\n')
    told = made.replayed
    assert len(told.left_out) == 501
    assert told.left_out["others"] == 1001
    assert msgspec.json.decode(msgspec.json.encode(told), type=Replayed) == told


def run_script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A replay of a script in namespaces of its own, whose first process has another root."""
    need_program("cc", "gcc")
    if subprocess.run(["unshare", "-rmpf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare -rmpf makes no namespace here")
    here = IMPORTED / "profdiff/collectors/guest"
    compiled = ["cc", "-O1", "-static", f"-I{here}", "-o", folder / "replay", here / "replay.c"]
    subprocess.run(compiled, check=True)
    (folder / "script").write_text(text)
    return subprocess.run(
        ["unshare", "-rmpf", "sh", "-c", "ulimit -Sn 1024; ./replay script 1; exit $?"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.build
def test_a_link_of_proc_does_not_lead_out_of_the_root(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    paths = "".join(f"P {path}\n" for path in ("/", "/proc", "/l", "/proc/1/root", f"/l{victim}"))
    tree = "D 1\nM 1\nL 2 3\nN 4\n"
    run = run_script(
        tmp_path, f"profdiff-replay 1 5 4 0 0 1 65536\n{paths}W 0\n{tree}C unlink 1 - p4\n"
    )
    assert run.stdout == "1 calls, 0 with another outcome than in the trace\n"
    assert victim.read_text() == "whole"


@pytest.mark.build
def test_a_file_that_becomes_a_folder_is_made_again(tmp_path: Path) -> None:
    made = script(tmp_path, '1 unlink("/a") = 0\n1 mkdir("/a", 0777) = 0\n')
    run = run_script(tmp_path, made.text())
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.build
def test_descriptors_do_not_run_out(tmp_path: Path) -> None:
    """By slots that are used again, and by a limit above those that are open."""
    first = "".join(f'1 openat(AT_FDCWD, "/a", O_RDONLY) = {n}\n' for n in range(3, 1203))
    left = "".join(
        f'{n} openat(AT_FDCWD, "/a", O_RDONLY) = 3\n{n} dup2(3, 9) = 9\n{n} exit_group(0) = ?\n'
        for n in range(10, 1010)
    )
    for text, calls in ((first, 1201), (left, 2000)):
        more = "1 dup2(3, 1500) = 1500\n" if text is first else ""
        run = run_script(tmp_path, script(tmp_path, f"{text}{more}").text())
        assert run.stdout == f"{calls} calls, 0 with another outcome than in the trace\n", (
            run.stderr
        )


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
    wanted = [line.split()[1] if line[0] == "C" else "close" for line in lines if line[0] in "CX"]
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
