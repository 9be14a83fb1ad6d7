"""The options of ``record`` and ``plan``, which are one definition: an experiment's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import click

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.commands import complete
from profdiff.commands.experiment.file import ExperimentCommand, GivenSuite
from profdiff.commands.experiment.option_types import (
    Collectors,
    Compilers,
    Cpus,
    Memory,
    Names,
    asked_kernels,
)
from profdiff.commands.output_types import OUTPUT_FOLDER

if TYPE_CHECKING:
    from profdiff.recording.experiment import RecordOptions
    from profdiff.recording.experiments import Experiments
    from profdiff.recording.suites import AskedSuite

# Where a context keeps the labels of ``RecordOptions.toggled``.
TOGGLED = "profdiff.toggled"


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
            "Repeat the option for more; with --tag, both must hold.",
            multiple=True,
            metavar="GLOB",
            shell_complete=complete.workloads,
        ),
        _option(
            "--tag tags",
            "Record only the suite's workloads with this tag. Repeat the option for more.",
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
            "SPEC,append=ARGUMENTS,memory=SIZE,cpus=N,cpu=MODEL gives its guest these, arguments "
            "behind those of --append.",
            multiple=True,
            metavar="[LABEL=]SPEC",
            shell_complete=complete.kernels,
        ),
        _option(
            "--variant variants",
            "Compare programs on one kernel: a program or source file, for which {program} stands "
            "as the first word of COMMAND; an environment, such as LD_LIBRARY_PATH=DIR; or a root "
            "folder (as --sysroot) with COMMAND's program. Give two or more, the base first.",
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
            "parameters are crossed.",
            multiple=True,
            metavar="NAME=VALUE,...",
        ),
        _option(
            "--zip zipped",
            "Step through all parameters together instead of crossing them.",
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
            "Do not copy the file that this word of COMMAND happens to name: the word means "
            "something else.",
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
            "--ops",
            "Number of operations in the window: a number, or a product of numbers and swept "
            "{NAME}s. {ops} in COMMAND stands for it.",
            metavar="N",
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
            "Guest seconds to wait between boot and workload, so that boot work finishes.",
            click.FloatRange(0, 3600),
            5.0,
            metavar="SECONDS",
        ),
        _shown(
            "--timeout",
            "Limit for one run, in seconds. For a guest, only the seconds count in which it "
            "computes or sleeps, not those in which it waits for a busy processor; ten times as "
            "many seconds of wall time end it too. For a machine, it is wall time.",
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
            "Without this option, what changed by 5% is repeated until its verdict stands, in at "
            "most 4 states: in restored machines, and in suites. 0: none.",
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
            "Boot each kernel once, save its machine before the workload comes, and restore it for "
            "each run, which takes less than a tenth of the time. Under KVM, guests "
            "always boot. Counts differ a little from those of --no-restore "
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


def experiments(options: dict[str, Any]) -> Experiments:
    """From the values of ``experiment_options``. Raises what ``Experiments.of`` raises."""
    from profdiff.recording.experiments import Experiments, session_folder
    from profdiff.session.held import held, refuse_occupied

    for name, told in (("only", "--only"), ("tags", "--tag")):
        if options[name]:
            raise InputError(f"{told} works only on a suite: add --suite FILE")
    wanted = asked(options, click.get_current_context())
    # Before anything is built, fetched or booted.
    folder = session_folder(wanted.output, wanted.command)
    if held(folder) not in ("session", "parts"):
        refuse_occupied(folder)
    return Experiments.of(wanted)


def asked_suite(options: dict[str, Any]) -> AskedSuite | None:
    """The suite that ``experiment_options`` ask for; None if they ask for one workload.
    Raises InputError."""
    from profdiff.recording.shard import Shard
    from profdiff.recording.suites import AskedSuite

    context = click.get_current_context()
    given = GivenSuite.of(context)
    if given is None:
        return None
    command = context.command
    assert isinstance(command, ExperimentCommand)  # noqa: S101
    each = []
    for entry in given.file.entries:
        own = command.context_of(context, given, entry)
        each.append((entry.told, asked(own.params, own)))
    return AskedSuite(
        name=given.file.name,
        output=options["output"],
        command=["profdiff", *sys.argv[1:]],
        each=each,
        only=options["only"],
        tags=options["tags"],
        shard=Shard.parse(options["shard"]) if options["shard"] else None,
    )


def asked(options: dict[str, Any], context: click.Context) -> RecordOptions:
    """What the options of one workload say, which ``context`` parsed. Raises InputError."""
    from profdiff.recording import boots
    from profdiff.recording.experiment import RecordOptions
    from profdiff.recording.sweep import Sweep
    from profdiff.session import manifest as m

    # What an experiment file says of a collector that the command line replaces counts for nothing.
    given = {
        name
        for name in options
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    kernels, series, sides = asked_kernels(options, context)
    machine = ("memory", "append", "settle", "timeout")
    points = ("sweep", "zipped", "difference", "ops", "cpus", "copies")
    own = {option.name or "" for option in registry.options()}
    guest, boot = m.Guest(**{name: options[name] for name in machine}), options["boot"]
    if boot:
        boots.refuse(options)
        guest = m.replace(guest, settle=0)
    return RecordOptions(
        kernels=kernels,
        series=series,
        architectures=options["architectures"] or [],
        compilers=options["compilers"] or [],
        output=options["output"],
        collectors=options["collectors"] or [],
        options={name: options[name] for name in own},
        given=given,
        sweep=Sweep(*(options[name] for name in points)),
        files=options["files"],
        no_files=options["no_files"],
        sysroots=options["sysroots"],
        guest=guest,
        restore=False if boot else options["restore"],
        cpu_models=options["cpu_models"],
        repeat=max(options["repeat"], 2) if boot else options["repeat"],
        twin_repeat=options["twin_repeat"],
        verify=options["verify"] or (boot and not options["vary_boots"]),
        order=m.Order(
            seed=options["seed"],
            vary=options["vary_boots"],
            states=options["vary_state"] or 0,
        ),
        observe=options["observe"] and not boot,
        qemu=options["qemu"],
        command=boots.COMMAND if boot else options["command"],
        repeats=options["vary_state"] is None and not boot,
        sides=sides,
        toggled=frozenset(context.meta.get(TOGGLED, ())),
    )
