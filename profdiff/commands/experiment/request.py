"""What an experiment's options ask for: a recording, or a suite of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.commands.experiment.file import ExperimentCommand, GivenSuite
from profdiff.commands.experiment.option_types import asked_kernels

if TYPE_CHECKING:
    from profdiff.recording.experiment import RecordOptions
    from profdiff.recording.experiments import Experiments
    from profdiff.recording.suites import AskedSuite

# Where a context keeps the labels of ``RecordOptions.toggled``.
TOGGLED = "profdiff.toggled"

# By option: what a trace does not have.
_NOT_REPLAYED = {"command": "COMMAND", "boot": "--boot", "variants": "--variant"}
_NOT_REPLAYED |= {"sweep": "--sweep", "difference": "--difference", "sysroots": "--sysroot"}
_REPLAYS = "10"


def experiments(options: dict[str, Any], wanted: RecordOptions | None = None) -> Experiments:
    """From the values of ``experiment_options``; ``wanted``: what ``asked`` has made of them, which
    reads a whole trace. Raises what ``Experiments.of`` raises."""
    from profdiff.recording.experiments import Experiments, session_folder
    from profdiff.session.held import held, refuse_occupied

    for name, told in (("only", "--only"), ("tags", "--tag")):
        if options[name]:
            raise InputError(f"{told} works only on a suite: add --suite FILE")
    context = click.get_current_context()
    wanted = wanted or asked(options, context)
    if context.default_map and isinstance(context.command, ExperimentCommand):
        wanted = replace(wanted, typed=context.command.typed(context))
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
        wanted = asked(own.params, own)
        typed = command.typed(own, given, entry.told.name)
        each.append((entry.told, replace(wanted, typed=typed)))
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
    points = ("sweep", "zipped", "difference", "ops", "cpus", "copies", "op")
    own = {option.name or "" for option in registry.options()}
    if options["boot"]:
        boots.refuse(options)
    elif options["boot_until"] is not None:
        raise InputError("--boot-until says where a recorded boot ends: add --boot")
    if options["replay"]:
        for name, told in _NOT_REPLAYED.items():
            if options[name]:
                raise InputError(f"--replay and {told}: the trace is the workload: leave one out")
    wanted = RecordOptions(
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
        guest=m.Guest(**{name: options[name] for name in machine}),
        restore=options["restore"],
        cpu_models=options["cpu_models"],
        repeat=options["repeat"],
        twin_repeat=options["twin_repeat"],
        verify=options["verify"],
        order=m.Order(
            seed=options["seed"],
            vary=options["vary_boots"],
            states=options["vary_state"] or 0,
        ),
        observe=options["observe"],
        qemu=options["qemu"],
        command=options["command"],
        repeats=options["vary_state"] is None,
        sides=sides,
        toggled=frozenset(context.meta.get(TOGGLED, ())),
    )
    if options["replay"]:
        wanted = _of_trace(wanted, Path(options["replay"]))
    return _of_boots(wanted) if options["boot"] else wanted


def _of_boots(wanted: RecordOptions) -> RecordOptions:
    """The same of boots: guests boot for each run, at least twice, and what follows the boot is
    neither waited for nor observed. Boots that nobody varies must be equal."""
    from profdiff.recording import boots
    from profdiff.session import manifest as m

    return replace(
        wanted,
        command=boots.COMMAND,
        guest=m.replace(wanted.guest, settle=0),
        restore=False,
        repeat=max(wanted.repeat, 2),
        verify=wanted.verify or not wanted.order.vary,
        observe=False,
        repeats=False,
    )


def _of_trace(wanted: RecordOptions, trace: Path) -> RecordOptions:
    """The same, of the calls in ``trace``. Raises InputError."""
    from profdiff.base.cache import cache_folder
    from profdiff.collectors.guest.initramfs import guest_resources
    from profdiff.recording.replay import written

    script, replayed = written(trace, cache_folder("replays"))
    return replace(
        wanted,
        command=[str(guest_resources() / "replay.c"), script.name, "{ops}"],
        files=[*wanted.files, f"{script}:/work/{script.name}"],
        no_files=[*wanted.no_files, script.name],
        output=wanted.output or Path(f"{script.stem}.profdiff"),
        sweep=replace(wanted.sweep, ops=wanted.sweep.ops or _REPLAYS),
        replay=replayed,
    )
