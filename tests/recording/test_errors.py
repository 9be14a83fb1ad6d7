"""Bad input: one line that says what and what to do, exit status 2, and nothing lost."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from restored import PANICS
from support import EXAMPLE, LIGHT, RESTORED, error_line, profdiff, unclaimed

from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.session.session import Session

QUICK = [*RESTORED, "--timeout", "120"]
BOOTS = ["--settle", "0", "--timeout", "120"]
# Where the collector does not matter: what takes the least.
FAILS = ["--collector", "timed", "--no-observe", *QUICK]


@pytest.fixture
def two(old_kernel: Path) -> list[str]:
    """The same kernel twice, which is quick to boot and enough to fail with."""
    return ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel}"]


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[[str], Path]:
    """Compiles a static C program with profdiff.h at hand."""

    def build(source: str) -> Path:
        (tmp_path / "p.c").write_text(source)
        command = [
            "cc",
            "-static",
            f"-I{guest_resources()}",
            "-o",
            tmp_path / "p",
            tmp_path / "p.c",
        ]
        subprocess.run(command, check=True)
        return tmp_path / "p"

    return build


def script(tmp_path: Path, body: str) -> Path:
    """An executable shell script."""
    path = tmp_path / "work.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def failed_record(tmp_path: Path, *arguments: str | Path) -> tuple[str, Session]:
    """Record something that fails; the error line and the session that is kept all the same."""
    session = tmp_path / "s.profdiff"
    result = profdiff("record", "-o", session, *arguments, status=2)
    return error_line(result), Session.open(session)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense' (see profdiff --help)"),
        (["record", "--kernel", "a"], "no COMMAND: write the command to record after --"),
        (["record", "--kernel", "a", "--memory", "x", "--", "y"], "write 512M or 2G"),
        (["record", "--kernel", "a", "--collector", "x", "--", "y"], "'x' is not a collector"),
    ],
)
def test_arguments_that_cannot_be(arguments: list[str], said: str) -> None:
    result = profdiff(*arguments, status=2)
    assert said in error_line(result)
    assert len(result.stderr.splitlines()) == 1


def test_no_qemu(two: list[str], tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    line = error_line(profdiff("record", *two, "--", EXAMPLE, env=env, status=2))
    assert line == "qemu-system-x86_64 is not installed: apt-get install qemu-system-x86"


def test_a_qemu_without_plugins(two: list[str], tmp_path: Path) -> None:
    """Stands for one that was configured with --disable-plugins, which Debian does not have."""
    fake = tmp_path / "qemu"
    fake.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo 'QEMU emulator version 8.0' && exit\n"
        "echo 'qemu: -plugin: invalid option' >&2; exit 1\n"
    )
    fake.chmod(0o755)
    line = error_line(profdiff("record", *two, "--qemu", fake, "--", EXAMPLE, status=2))
    assert "without TCG plugins" in line
    assert "--qemu" in line


def test_an_image_that_is_no_kernel(two: list[str], tmp_path: Path) -> None:
    image = tmp_path / "bzImage"
    image.write_bytes(b"not a kernel" * 1000)
    result = profdiff("record", *two[:2], "--kernel", f"b={image}", "--", EXAMPLE, status=2)
    assert str(image) in error_line(result)


def test_a_debug_elf_of_another_build(old_kernel: Path, new_kernel: Path) -> None:
    spec = f"b={old_kernel}/bzImage,vmlinux={new_kernel}/vmlinux.zst"
    arguments = ["record", "--kernel", old_kernel, "--kernel", spec, "--", EXAMPLE]
    line = error_line(profdiff(*arguments, status=2))
    assert "677a0be9a4adff4f7c616bf3f449ce2259e39c71" in line
    assert "c71b1257d3b54d36fcaa8a0f88dd804e40ea6613" in line


@pytest.mark.parametrize("damage", ["cut", "zeros", "text"])
def test_a_corrupt_debug_elf(old_kernel: Path, tmp_path: Path, damage: str) -> None:
    data = (old_kernel / "vmlinux.zst").read_bytes()[:2_000_000]
    broken = {"cut": data, "zeros": data[:4000] + bytes(400_000), "text": b"hello\n" * 100}[damage]
    elf = tmp_path / "vmlinux.zst"
    elf.write_bytes(broken)
    spec = f"b={old_kernel}/bzImage,vmlinux={elf}"
    arguments = ["record", "--kernel", old_kernel, "--kernel", spec, "-o", tmp_path / "s"]
    line = error_line(profdiff(*arguments, "--settle", "0", "--", "/bin/true", status=2))
    assert str(elf) in line


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nosuchname", "profdiff kernel add nosuchname FOLDER"),
        ("/no/such/folder", "no such kernel"),
        ("x=", "no kernel or file is named"),
        ("b d=.", "not a valid label"),
        (".", "no kernel image (bzImage"),
        ("nothing.deb", "nothing.deb"),
        ("debian:/", "debian:SUITE"),
    ],
)
def test_an_unknown_kernel(two: list[str], tmp_path: Path, spec: str, said: str) -> None:
    arguments = ["record", *two[:2], "--kernel", spec, "--", EXAMPLE]
    assert said in error_line(profdiff(*arguments, cwd=tmp_path, status=2))


def test_a_label_given_twice(old_kernel: Path) -> None:
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"a={old_kernel}"]
    assert "twice" in error_line(profdiff("record", *kernels, "--", EXAMPLE, status=2))


def test_a_workload_that_is_missing(two: list[str]) -> None:
    line = error_line(profdiff("record", *two, "--", "./nothing-here", status=2))
    assert "no such workload: ./nothing-here" in line


def test_a_workload_for_another_architecture(two: list[str], tmp_path: Path) -> None:
    data = bytearray(Path("/bin/true").read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "arm").write_bytes(data)
    line = error_line(profdiff("record", *two, "--", tmp_path / "arm", status=2))
    assert "is a program for arm64, the guest is x86-64" in line
    assert "x86-64" in line


def test_a_workload_that_does_not_compile(two: list[str], tmp_path: Path) -> None:
    (tmp_path / "w.c").write_text("int main(void) { return nothing; }\n")
    line = error_line(profdiff("record", *two, "--", tmp_path / "w.c", status=2))
    assert "cannot compile" in line
    assert "nothing" in line


@pytest.mark.guest
def test_a_workload_that_fails_is_kept_as_a_failed_run(two: list[str], tmp_path: Path) -> None:
    body = "echo seen; echo because >&2; exit 3"
    line, session = failed_record(tmp_path, *two, *FAILS, "--", script(tmp_path, body))
    assert "exit status 3" in line
    assert "because" in line
    for run in session.manifest.runs:
        assert run.failure
        assert run.failure.kind == "workload"
        assert run.exit_status == 3
        assert session.read(run, "stdout") == b"seen\n"
        assert session.read(run, "dmesg")


@pytest.mark.guest
def test_one_kernel_failing_leaves_the_others_reported(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    body = "case $(uname -r) in 6.18*) exit 1;; esac"
    kernels = [f"--kernel=a={old_kernel}", f"--kernel=b={new_kernel}"]
    quick = [*QUICK, "--no-call-tree"]
    line, session = failed_record(tmp_path, *kernels, *quick, "--", script(tmp_path, body))
    assert line.startswith("b has no result")
    text = profdiff("report", session.folder).stdout
    assert "failed run b-1" in text
    assert "b: no run gave a result" in text


@pytest.mark.guest
def test_a_workload_that_crashes(
    two: list[str], tmp_path: Path, compile_c: Callable[[str], Path]
) -> None:
    program = compile_c("int main(void) { __builtin_trap(); }")
    line, _ = failed_record(tmp_path, *two, *FAILS, "--", program)
    assert "killed by signal 4" in line


# Does another thing in each kernel.
WINDOWS = """\
#include <string.h>
#include <sys/utsname.h>
#include "profdiff.h"
int main(void)
{
	struct utsname name;
	uname(&name);
	if (!strncmp(name.release, "6.18", 4))
		PROFDIFF_START();
	if (!strncmp(name.release, "7.", 2))
		PROFDIFF_STOP();
	if (!name.release[0]) {
		PROFDIFF_START();
		PROFDIFF_STOP();
	}
	return 0;
}
"""


@pytest.mark.guest
def test_a_window_that_never_opens_or_closes(
    old_kernel: Path,
    new_kernel: Path,
    newest_kernel: Path,
    tmp_path: Path,
    compile_c: Callable[[str], Path],
) -> None:
    named = {"never": old_kernel, "opened": new_kernel, "closed": newest_kernel}
    kernels = [f"--kernel={label}={kernel}" for label, kernel in named.items()]
    quick = [*QUICK, "--no-call-tree"]
    line, session = failed_record(tmp_path, *kernels, *quick, "--", compile_c(WINDOWS))
    failures = {run.kernel: run.failure for run in session.manifest.runs}
    assert failures.keys() == named.keys()
    for label, said in (("never", "opened"), ("opened", "closed"), ("closed", "opened")):
        failure = failures[label]
        assert failure
        assert failure.kind == "window"
        assert f"never {said}" in failure.message
    assert "never opened" in line


@pytest.mark.guest
def test_a_kernel_that_never_starts_init(two: list[str], tmp_path: Path) -> None:
    append = ["--append", f"{LIGHT} rdinit=/nothing-here"]
    session = tmp_path / "s.profdiff"
    arguments = ["record", "-o", session, *two, *BOOTS, *append, "--", "/bin/true"]
    result = profdiff(*arguments, status=2)
    assert "the kernel panicked while booting: " in error_line(result)
    assert "console: " in result.stderr
    assert "Kernel panic" in result.stderr


@pytest.mark.guest
def test_a_kernel_that_panics(two: list[str], tmp_path: Path) -> None:
    line, session = failed_record(tmp_path, *two, *FAILS, "--", script(tmp_path, PANICS))
    assert "the kernel panicked: Out of memory: compulsory panic_on_oom is enabled" in line
    failure = session.manifest.runs[0].failure
    assert failure
    assert failure.kind == "panic"
    assert any("panic" in text for text in failure.console)


@pytest.mark.guest
def test_a_kernel_that_uses_fewer_processors(two: list[str], tmp_path: Path) -> None:
    """As one whose CONFIG_NR_CPUS is less."""
    light = ["--collector", "timed", "--settle", "0", "--no-observe"]
    light += ["--append", f"nr_cpus=1 {LIGHT}"]
    line, session = failed_record(tmp_path, *two, *light, "--cpus", "2", "--", "true")
    said = "the kernel used 1 of 2 vCPUs: give it a config with CONFIG_SMP=y and a CONFIG_NR_CPUS"
    assert said in line
    failures = [run.failure for run in session.manifest.runs]
    assert failures
    assert all(
        one and (one.kind, one.message.startswith(said)) == ("boot", True) for one in failures
    )


@pytest.mark.guest
def test_a_guest_that_hangs(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"]
    timeout = [*FAILS, "--timeout", "5"]
    work = script(tmp_path, "case $(uname -r) in 6.12*) while :; do :; done;; esac")
    line, session = failed_record(tmp_path, *kernels, *timeout, "--", work)
    assert "within 5 s" in line
    # Runs stand in the order of their ends.
    (hung,) = [run for run in session.manifest.runs if run.kernel == "a"]
    assert hung.failure
    assert hung.failure.kind == "timeout"


@pytest.mark.guest
def test_a_kernel_that_does_not_boot_in_time(two: list[str], tmp_path: Path) -> None:
    line, _ = failed_record(tmp_path, *two, "--no-restore", "--timeout", "1", "--", "/bin/true")
    assert "within 1 s (while booting)" in line
    assert "--timeout" in line


@pytest.mark.guest
def test_a_full_disk(two: list[str], small_disk: Path, tmp_path: Path) -> None:
    """The session's files fit, the kernel log and counts do not."""
    session = small_disk / "s.profdiff"
    arguments = ["record", "-o", session, *two, "--settle", "0", "--", "/bin/true"]
    line = error_line(profdiff(*arguments, status=2))
    assert "room" in line
    # Nothing half: the manifest is there whole or not at all.
    if (session / "manifest.json").exists():
        Session.open(session)


@pytest.fixture
def copy(recorded: Path, tmp_path: Path) -> Path:
    """A session to damage."""
    return unclaimed(shutil.copytree(recorded, tmp_path / "copy.profdiff"))


def change_manifest(session: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Apply ``change`` to the manifest's JSON."""
    manifest = json.loads((session / "manifest.json").read_text())
    change(manifest)
    (session / "manifest.json").write_text(json.dumps(manifest))


def test_no_session(tmp_path: Path) -> None:
    assert "no session in this folder" in error_line(profdiff("report", cwd=tmp_path, status=2))
    assert "is not a session" in error_line(profdiff("report", tmp_path, status=2))


def test_a_session_of_a_newer_schema(copy: Path) -> None:
    change_manifest(copy, lambda manifest: manifest.update(schema="profdiff.session/9"))
    line = error_line(profdiff("report", copy, status=2))
    assert "profdiff.session/9" in line
    assert "newer" in line


@pytest.mark.parametrize("length", [0, 1, 100, 1000, -1, -3])
def test_a_truncated_manifest(copy: Path, length: int) -> None:
    path = copy / "manifest.json"
    data = path.read_bytes().rstrip()
    path.write_bytes(data[:length])
    assert "manifest" in error_line(profdiff("report", copy, status=2))


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "runs/../../x", "a\u0000b"])
def test_a_hostile_path(copy: Path, path: str) -> None:
    def change(manifest: dict[str, object]) -> None:
        manifest["runs"][0]["files"]["counts"] = path  # type: ignore[index]

    change_manifest(copy, change)
    assert "manifest" in error_line(profdiff("report", copy, status=2))


def test_a_symbolic_link_out_of_the_session(copy: Path, tmp_path: Path) -> None:
    counts = copy / "runs/base-1/counts.bin"
    counts.rename(tmp_path / "outside.bin")
    counts.symlink_to(tmp_path / "outside.bin")
    assert "leads out of the session" in error_line(profdiff("report", copy, status=2))


@pytest.mark.parametrize("what", ["counts", "symbols"])
def test_a_truncated_file(copy: Path, what: str) -> None:
    path = copy / ("runs/base-1/counts.bin" if what == "counts" else "symbols/base.npz")
    path.write_bytes(path.read_bytes()[:-10])
    assert str(path.name) in error_line(profdiff("report", copy, status=2))


def test_debug_shows_the_trace(tmp_path: Path) -> None:
    result = profdiff("--debug", "report", tmp_path, status=2)
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("profdiff: ")


def without_symbols(session: Path) -> None:
    """As it is when its recorder was killed before it symbolized."""
    shutil.rmtree(session / "symbols")

    def change(manifest: dict[str, object]) -> None:
        for kernel in manifest["kernels"]:  # type: ignore[attr-defined]
            kernel["symbols"] = None

    change_manifest(session, change)


def test_a_report_resolves_the_symbols_that_are_missing(copy: Path, recorded: Path) -> None:
    without_symbols(copy)
    before = (copy / "manifest.json").read_bytes()
    assert profdiff("report", copy).stdout == profdiff("report", recorded).stdout
    # Who reads a session does not write it.
    assert (copy / "manifest.json").read_bytes() == before
    assert not (copy / "symbols").exists()


def test_a_debug_elf_that_was_replaced(copy: Path, new_kernel: Path) -> None:
    without_symbols(copy)

    def change(manifest: dict[str, object]) -> None:
        manifest["kernels"][0]["debug_elf"] = str(new_kernel / "vmlinux")  # type: ignore[index]

    change_manifest(copy, change)
    assert "changed since the session was recorded" in error_line(
        profdiff("report", copy, status=2)
    )


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--perf-args", "'", "--perf-args ': No closing quotation"),
        ("--perf-args", "a\\", "No escaped character"),
        ("--cpus", "²", "write numbers from 1 to 255"),
        ("--repeat", "9" * 5000, "write a whole number from 1 to 1,000,000"),
    ],
)
def test_text_that_cannot_be_split_or_counted(option: str, value: str, words: str) -> None:
    line = error_line(
        profdiff("record", option, value, "--kernel", "running", "--", "true", status=2)
    )
    assert words in line
