"""The options of ``record`` and ``plan``, which are one definition: an experiment's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import click

from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.commands import complete
from profdiff.commands.command import OUTPUT_FOLDER, Headings
from profdiff.commands.experiment.option_types import (
    Collectors,
    Compilers,
    Cpus,
    Memory,
    Names,
    Noun,
)

HEADINGS: Headings = {
    "Common options": (
        *(
            "--kernel",
            "--ops",
            "--op",
            "--sweep",
            "--suite",
            "--only",
            "--tag",
            "--collector",
            "--output",
        ),
        *("--cpus", "--memory", "--append", "--repeat"),
    ),
    "What is compared": (
        *("--series", "--arch", "--compilers", "--variant", "--boot", "--boot-until"),
    ),
    "The workload": (
        *("--experiment", "--replay", "--file", "--no-file", "--sysroot", "--zip", "--difference"),
        *("--copies", "--timeout", "--metric", "--metric-sample", "--boot-runs"),
    ),
    "The guest": ("--cpu", "--qemu", "--restore", "--settle", "--observe"),
    "States and spread": ("--vary-state", "--vary-boots", "--aa", "--seed", "--verify"),
    "How runs are made": ("--jobs", "--cluster", "--shard", "--yes", "--all"),
    "Options of collectors": [max(one.opts, key=len) for one in registry.options()],
}


def _option(names: str, text: str, **more: Any) -> click.Option:
    return click.Option(names.split(), help=text, **more)


def _shown(names: str, text: str, kind: Any, default: Any, **more: Any) -> click.Option:
    """An option whose default stands in its help."""
    return _option(names, text, type=kind, default=default, show_default=True, **more)


def _options() -> list[click.Parameter]:
    """Those of every experiment, then those of each collector."""
    known = registry.recording()
    how = "; ".join(f"{name}: {one.help}" for name, one in known.items())
    return [
        _option(
            "--experiment",
            "A TOML file whose keys are these options.  [default: profdiff.toml in this "
            "folder, if no COMMAND is given]",
            metavar="FILE",
        ),
        _option(
            "--suite",
            "Record several workloads: a TOML file with [[workload]] entries, or a built-in suite. "
            "Other keys of the file are defaults for all of them.",
            metavar="FILE|NAME",
            shell_complete=complete.suites,
        ),
        _option(
            "--only",
            "Record only the suite's cells whose name matches: 'mprotect*', 'mprotect/anon,*'. "
            "Can be repeated; with --tag, both must match.",
            multiple=True,
            metavar="GLOB",
            shell_complete=complete.workloads,
        ),
        _option(
            "--tag tags",
            "Record only the suite's workloads with this tag. Can be repeated.",
            multiple=True,
            metavar="TAG",
        ),
        _option(
            "--shard",
            "Record only the I-th of N parts of the runs, into a folder of its own; profdiff merge "
            "puts the parts together.",
            metavar="I/N",
        ),
        _option(
            "--kernel kernels",
            "A kernel: a folder with bzImage and vmlinux, an image (IMAGE,vmlinux=ELF), a "
            "build tree, .deb files, debian:SUITE, debian:VERSION, git:REPO[@REV], a name "
            "(profdiff kernel add); or a machine that runs it: running, "
            "ssh://[user@]host[:port]. Give two or more; the first is the base. "
            "SPEC,append=ARGUMENTS,memory=SIZE,cpus=N,cpu=MODEL configures its guest; these "
            "arguments follow those of --append.",
            multiple=True,
            metavar="[LABEL=]SPEC",
            shell_complete=complete.kernels,
        ),
        _option(
            "--variant variants",
            "Compare programs on one kernel: a program or source file, if the first word of "
            "COMMAND is {program}; an environment, such as LD_LIBRARY_PATH=DIR; or a root folder "
            "(as for --sysroot) with COMMAND's program. Give two or more, the base first.",
            multiple=True,
            metavar="LABEL=PROGRAM|NAME=VALUE|DIR",
        ),
        _option(
            "--series",
            "Build BASE and every commit from there to TIP, and record them as kernels, BASE "
            "first; the kernels of --kernel follow. The repository is this folder's unless "
            "git:REPO@ names another. OPTION is an option of a kernel from git, such as cc=gcc-13. "
            "profdiff names and skips a commit that does not build.",
            metavar="[git:REPO@]BASE..TIP[,OPTION...]",
        ),
        _option(
            "--arch architectures",
            "The architectures to record. With several, profdiff records one session for each, in "
            "its own folder. debian:SUITE and debian:VERSION serve all of them; for other kinds of "
            "SPEC, give each label one SPEC for each architecture. profdiff compiles a .c workload "
            "for each.  "
            "[default: what the kernels are for]",
            type=Names(),
            metavar=f"{'|'.join(architecture.arch for architecture in ARCHITECTURES)},...",
        ),
        _option(
            "--compilers",
            "Build each kernel (git:REPO@REV) with each of these compilers and record them. With "
            "several, profdiff records one session for each, in its own folder, and reports which "
            "changes all of them show.  [default: the cc= of each SPEC, or gcc]",
            type=Compilers(),
            metavar="gcc-12,clang-19,...",
        ),
        _option(
            "-o --output",
            "The session folder.  [default: WORKLOAD.profdiff]",
            type=OUTPUT_FOLDER,
            shell_complete=complete.sessions,
        ),
        _option(
            "--collector collectors",
            f"How to record. {how}.  [default: the first of these that can record there]",
            type=Collectors(),
            metavar=f"{'|'.join(known)},...",
        ),
        _option(
            "--sweep",
            "Values of a parameter, substituted for {NAME} in COMMAND and --ops. Several "
            "parameters are combined.",
            multiple=True,
            metavar="NAME=VALUE,...",
        ),
        _option(
            "--zip zipped",
            "Pair the values of all --sweep parameters instead of testing every combination.",
            is_flag=True,
        ),
        _option(
            "--difference",
            "Run two lengths of the workload ({NAME} in COMMAND) and subtract, so that "
            "start-up cancels out: each value of a swept NAME and half of it, or SHORT and LONG. "
            "An op is one iteration, unless --ops says otherwise. none: count the whole command.  "
            "[default: the {NAME} that --ops gives, if the program has no marks]",
            metavar="NAME[=SHORT,LONG]|none",
        ),
        _option(
            "--file files",
            "Copy a file or folder into the guest.",
            multiple=True,
            metavar="SRC[:DEST]",
        ),
        _option(
            "--no-file no_files",
            "Do not copy the file that this word of COMMAND happens to name. Can be repeated.",
            multiple=True,
            metavar="WORD",
        ),
        _option(
            "--sysroot sysroots",
            "Take the guest's programs, interpreters and libraries from this root folder, not from "
            "this machine. ARCH= limits it to one architecture.",
            multiple=True,
            metavar="[ARCH=]DIR",
        ),
        _option(
            "--replay",
            "Instead of running COMMAND, replay the system calls of a program in guests, from the "
            "trace that 'strace -f -y -o FILE PROGRAM' wrote, on files made to match. --ops is the "
            "number of replays (10 without it).",
            metavar="FILE",
        ),
        _option(
            "--ops",
            "Number of operations in the window: a number, or a product of numbers and swept "
            "{NAME}s. {ops} in COMMAND stands for it.",
            metavar="N",
        ),
        _option(
            "--op",
            "What one operation is, such as 'mprotect() call' or 'page', for reports and mails.",
            type=Noun(),
            default="",
            metavar="NOUN",
        ),
        _shown(
            "--copies",
            "Copies of COMMAND that run at the same time, each on a vCPU of its own (--cpus). "
            "{copy} in COMMAND stands for the number of each, from 0; --ops are those of each.",
            click.IntRange(1, 1024),
            1,
            metavar="N",
        ),
        _shown("--memory", "The guest's memory.", Memory(), "1G"),
        _shown("--cpus", "The guest's vCPUs.", Cpus(), "1", metavar="N,..."),
        _option(
            "--cpu cpu_models",
            "The model of the guest's processor, as QEMU's -cpu takes it; qemu-system-... -cpu "
            "help lists them. Give it once for each architecture.  [default: max]",
            multiple=True,
            metavar="[ARCH=]MODEL",
        ),
        _option("--append", "Extra kernel arguments.", default="", metavar="ARGUMENTS"),
        _shown(
            "--settle",
            "Seconds of guest time to wait between boot and workload, so that boot work finishes.",
            click.FloatRange(0, 3600),
            5.0,
            metavar="SECONDS",
        ),
        _shown(
            "--timeout",
            "Limit for one run. For a guest, it is the guest's own time, which stops while QEMU "
            "waits for a busy host; ten times as much wall time also ends a run. For a machine, it "
            "is wall time.",
            click.FloatRange(1, 10**6),
            600.0,
            metavar="SECONDS",
        ),
        _shown(
            "--repeat",
            "Runs of each cell with each collector. In guests, each run boots anew, or restores "
            "its machine (--restore).",
            click.IntRange(1, 10**6),
            1,
            metavar="N",
        ),
        _option(
            "--aa twin_repeat",
            "Also record the base against itself N times, in the same rounds, to measure the "
            "noise floor.",
            type=click.IntRange(0, 10**6),
            default=0,
            metavar="N",
        ),
        _option(
            "--vary-boots",
            "Vary random numbers, user addresses and settling time between repetitions, as "
            "boots of a real machine do, so that exact counts have a spread.",
            is_flag=True,
        ),
        _option(
            "--vary-state",
            "Repeat exact counts in N other states that should not matter: numbers of mappings and "
            "open files, environment, pid, caches, addresses. A change that holds in all is exact. "
            "Without this option, record repeats what changed by 5%, in restored machines and in "
            "suites, until the verdict is certain, in at most 4 states. 0: none.",
            type=click.IntRange(0, 1000),
            metavar="N",
        ),
        _shown(
            "--seed",
            "Seed for the order of runs, for --vary-boots and --vary-state.",
            click.IntRange(0, 2**32 - 1),
            0,
            metavar="N",
        ),
        _option(
            "--verify",
            "Run each cell twice. The report says whether the runs are equal.",
            is_flag=True,
        ),
        _option(
            "--restore/--no-restore",
            "Boot each kernel once, save its machine before the workload starts, and restore it "
            "for each run, which takes less than a tenth of the time. Under KVM, guests always "
            "boot. Counts differ a little from those of --no-restore "
            "(docs/restored-machines.md). A session continues as it began.  [default: --restore]",
            default=None,
        ),
        _option(
            "--observe/--no-observe",
            "After the measurement, run the workload once more in the guest and observe its "
            "system calls and memory.",
            default=True,
        ),
        _option(
            "--jobs",
            "Number of guests to run in parallel.  [default: number of CPUs]",
            type=click.IntRange(1),
            metavar="N",
        ),
        _option(
            "--cluster",
            "Run the guests on the workers of a Dask cluster, as many as it has room for: a "
            "scheduler's address or its file (FILE.json), N workers on this machine, or one on "
            "each host. With the last two, +dashboard serves Dask's page to this machine's users. "
            "Needs profdiff[cluster].",
            metavar="ADDRESS|local:N|ssh:HOST,...",
        ),
        _option(
            "--yes",
            "Do not ask: without COMMAND, run the session's command even if someone else recorded "
            "it; with plan, build kernels.",
            is_flag=True,
        ),
        _option(
            "--qemu",
            "The QEMU binary to use. With several architectures, give one for each.",
            multiple=True,
            metavar="[ARCH=]FILE",
        ),
        *registry.options(),
        click.Argument(["command"], nargs=-1, type=click.UNPROCESSED),
    ]


def experiment_options(
    command: Callable[..., Any], without: Collection[str] = (), hidden: Collection[str] = ()
) -> Callable[..., Any]:
    """Give a command COMMAND and options of an experiment: not ``without``, some ``hidden``."""
    for one in (own := [one for one in _options() if not set(one.opts) & set(without)]):
        if isinstance(one, click.Option) and set(one.opts) & set(hidden):
            one.hidden = True
    # As click.option() does, from the last to the first.
    command.__dict__.setdefault("__click_params__", []).extend(reversed(own))
    return command
