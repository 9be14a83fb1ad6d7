"""Exact counts of arm64 guests by the command line, and all that is read of them."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from support import EXAMPLE, ROOT, error_line, profdiff

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.guest.agent import AGENT
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.session.session import Session

SCHEMA = json.loads((ROOT / "profdiff/report.schema.json").read_text())
pytestmark = [pytest.mark.guest, pytest.mark.network]


@pytest.fixture(scope="module")
def document(recorded_arm64: Path) -> dict[str, object]:
    shown = profdiff("report", recorded_arm64, "--json", "-").stdout
    return dict(json.loads(shown))


def test_exact_is_the_default_and_counts_repeat(recorded_arm64: Path) -> None:
    manifest = Session.open(recorded_arm64).manifest
    assert manifest.collectors == ["exact"]
    assert manifest.guest
    assert manifest.guest.cpu == "cortex-a72"
    for label in ("old", "new"):
        runs = [run for run in manifest.runs if run.kernel == label]
        assert len(runs) == 2
        for run in runs:
            assert run.window
            assert (run.window.kind, run.window.count) == ("marks", 1)
            assert run.qemu
            assert run.qemu.architecture == "aarch64"
            at = run.qemu.arguments.index("-cpu")
            assert run.qemu.arguments[at + 1] == "cortex-a72"
        assert runs[0].instructions == runs[1].instructions
    shown = profdiff("report", recorded_arm64, "--width", "200").stdout
    assert shown.count("reproduced bit for bit (2 runs): ") == 1
    assert "arm64 cortex-a72, 2 vCPU, 1024 MiB" in shown


def test_the_document_says_the_machine(document: dict[str, object]) -> None:
    jsonschema.validate(document, SCHEMA)
    guest = document["guest"]
    assert isinstance(guest, dict)
    assert (guest["arch"], guest["cpu"], guest["cpus"]) == ("arm64", "cortex-a72", 2)


def test_functions_of_modules_and_inlined_ones(document: dict) -> None:  # type: ignore[type-arg]
    """Each call runs the same code of the module, which lies outside the kernel's text."""
    metric = document["metrics"][0]
    rows = {row["name"]: row for row in metric["functions"] if row["object"] == "loop"}
    for label in ("old", "new"):
        assert rows["loop_control_ioctl"]["self"][label] % 100 == 0
        assert rows["loop_control_ioctl"]["self"][label] > 1000
        assert rows["loop_add"]["total"][label] > rows["loop_add"]["self"][label] > 0
        lost = sum(row["self"][label] for row in metric["unresolved"])
        # The module's own start is code that the kernel has freed since.
        assert lost < 0.001 * metric["totals"][label]
    vmlinux = {row["name"] for row in metric["functions"] if row["object"] == "vmlinux"}
    # arch/arm64/kernel/entry-common.c; inlined into what calls it.
    assert {"el0_svc", "invoke_syscall"} <= vmlinux


def test_system_calls_are_observed_by_name(recorded_arm64: Path) -> None:
    opened = Session.open(recorded_arm64)
    run = opened.manifest.runs[0]
    observed = dict(line.split() for line in opened.read(run, "observed").decode().splitlines())
    assert observed["complete"] == "1"
    # printf() asks whether it writes to a terminal.
    assert observed["syscall_ioctl"] == "101"
    assert observed["syscall_finit_module"] == "1"
    # asm-generic/unistd.h has it as another name's number.
    assert int(observed["syscall_newfstatat"]) > 0
    assert not [name for name in observed if name.removeprefix("syscall_").isdecimal()]
    assert opened.read(run, "vdso")[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    "form",
    [
        *("--html", "--csv", "--csv-experiment", "--folded", "--folded-diff"),
        *("--svg", "--speedscope", "--firefox", "--pprof"),
    ],
)
def test_every_form_shows_it(recorded_arm64: Path, tmp_path: Path, form: str) -> None:
    profdiff("report", recorded_arm64, form, tmp_path / "out")
    written = [path for path in tmp_path.iterdir() if path.stat().st_size > 100]
    assert written
    if form not in ("--firefox", "--pprof", "--html"):
        text = "".join(path.read_text() for path in written)
        assert "x86" not in text
        known = {"--csv-experiment": "instructions"}
        assert known.get(form, "loop_control_ioctl") in text


def test_annotate_inventory_and_mail(recorded_arm64: Path) -> None:
    code = profdiff("annotate", recorded_arm64, "loop_control_ioctl").stdout
    assert " ret" in code
    assert "bl  " in code
    inventory = profdiff("report", recorded_arm64, "inventory").stdout
    for item in ("returns", "svc", "eret", "mrs"):
        assert re.search(rf"^ +[1-9].* {item}\b", inventory, re.M), item
    mail = profdiff("mail", recorded_arm64).stdout
    assert "on arm64\nunder an emulator" in mail or "on arm64 under an emulator" in mail


def test_another_processor_is_another_recording(
    recorded_arm64: Path, arm64_kernels: tuple[KernelFiles, KernelFiles]
) -> None:
    old = json.loads((recorded_arm64 / "manifest.json").read_text())["command"][1:]
    at = old.index("--cpu")
    without = [*old[:at], *old[at + 2 :]]
    refused = error_line(profdiff(*without, cwd=ROOT, status=2))
    assert "holds a recording with --cpu cortex-a72" in refused


def test_a_model_that_there_is_not(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, tmp_path: Path
) -> None:
    command = ["record", "--kernel", f"a={arm64_kernel.image}", "--aa", "1", "-o", tmp_path]
    for model, why in (
        ("cortex-z9", "unable to find CPU model 'cortex-z9'"),
        ("max,pauth-impdef=maybe", "max,pauth-impdef=maybe"),
        ("cortex-m3", "not supported"),
        ("help", "is not a QEMU CPU model"),
        ("max -S", "is not a QEMU CPU model"),
        ("arm64=cortex-z9", "unable to find CPU model 'cortex-z9'"),
    ):
        told = error_line(profdiff(*command, "--cpu", model, "--", EXAMPLE, "4", status=2))
        assert why in told
        assert "qemu-system-aarch64 -cpu help lists the models" in told


def test_a_program_of_another_architecture(arm64_qemu: Qemu, arm64_kernel: KernelFiles) -> None:
    kernel = f"a={arm64_kernel.image}"
    told = error_line(
        profdiff("record", "--kernel", kernel, "--aa", "1", "--", "/bin/true", status=2)
    )
    assert "the guest is arm64" in told
    assert "--sysroot" in told


def test_the_agent_is_a_static_program_of_the_guests(arm64_qemu: Qemu) -> None:
    program = AGENT.find(ARM64)
    said = subprocess.run(["readelf", "-hl", program], capture_output=True, text=True, check=True)
    assert "AArch64" in said.stdout
    assert "INTERP" not in said.stdout
