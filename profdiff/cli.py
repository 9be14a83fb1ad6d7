"""The command line: ``profdiff COMMAND``. The one place where an error becomes an exit status."""

import contextlib
import os
import signal
import sys
import threading
from importlib import import_module
from typing import NoReturn

import click

from profdiff import __version__
from profdiff.base import program, terminal
from profdiff.base.errors import ProfdiffError, in_line, told
from profdiff.base.names import did_you_mean
from profdiff.commands import COMMANDS

# NumPy's BLAS, which nothing here uses, starts a thread for each processor, and they spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

EXIT_ERROR = 2
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# Set when Python has heard of a signal to end; in seconds, how long native code may keep it from.
_HEARD = threading.Event()
_GRACE = 3.0


class _Commands(click.Group):
    """Loads a command when it is asked for, and none to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].place.partition(":")
        command: click.Command = getattr(import_module(f"profdiff.commands.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for group in dict.fromkeys(command.group for command in COMMANDS.values()):
            every = [(name, one) for name, one in COMMANDS.items() if one.group == group]
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), one.help) for name, one in every])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="profdiff")
@click.option("--debug", is_flag=True, help="Show a traceback for errors.")
def cli(debug: bool) -> None:
    """Differential profiler for Linux kernels.

    Record a workload on two or more kernels, then see which functions, inlined ones included, cost
    more.

    \b
      profdiff record --kernel base=KERNEL --kernel new=KERNEL -- ./workload
      profdiff report
    """
    program.begin()


def main() -> NoReturn:
    """Entry point of the ``profdiff`` program."""
    terminal.open_streams()
    _end_on_signals()
    status = _status()
    # Everything is written and closed: taking the memory apart piece by piece takes longer than
    # reading a small recording, and what could not be written will not be at a second try.
    os._exit(status)


def _status() -> int:
    """Run the command that the arguments ask for; its exit status."""
    # Read here as well: an error in the arguments themselves comes before click has parsed them.
    debug = "--debug" in sys.argv[1:]
    try:
        if "_PROFDIFF_COMPLETE" in os.environ:
            from profdiff.commands import completion

            completion.register()
        status = cli.main(prog_name="profdiff", standalone_mode=False)
        terminal.close()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_ERROR
    except click.ClickException as error:
        _complain(_told(error), debug)
        return EXIT_ERROR
    except (KeyboardInterrupt, click.Abort) as error:
        _complain("interrupted: run the same command again to resume", debug)
        return 128 + _signal_of(error)
    except SystemExit as error:  # click exits of itself: on a broken pipe, after a completion
        return EXIT_ERROR if error.code else 0
    except BrokenPipeError:
        # The reader of our output is gone (head, less): nothing to say, nor anywhere to say it.
        return EXIT_ERROR
    # Native code that panics raises what is not an Exception (PyO3's PanicException).
    except BaseException as error:
        # Whoever judges says so, too, and keeps its own status.
        if not isinstance(error.__cause__, BrokenPipeError):
            _complain(told(error), debug)
        return error.status if isinstance(error, ProfdiffError) else EXIT_ERROR
    return status or 0


def _told(error: click.ClickException) -> str:
    """A mistake in the arguments, with what was meant, or with where help is."""
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    command, meant = context.command, ""
    if isinstance(error, click.NoSuchOption):
        message = error.message.rstrip(".")
        options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
        names = [name for one in options for name in (*one.opts, *one.secondary_opts)]
        # The dashes that all of them begin with make none of them near.
        known = {name.lstrip("-"): name for name in names}
        meant = did_you_mean(error.option_name.lstrip("-"), known)
    elif isinstance(error, click.NoSuchCommand) and isinstance(command, click.Group):
        message = error.message.rstrip(".")
        known = {name: name for name in command.list_commands(context)}
        if context.parent is None:
            from profdiff.topics.registry import SHARING, TOPICS, TYPES

            topics = (*TOPICS, TYPES.name, SHARING.name, "layout")
            known = {**{topic: f"report {topic}" for topic in topics}, **known}
        meant = did_you_mean(error.command_name, known)
    return f"{message}: {meant}" if meant else f"{message} (see {context.command_path} --help)"


def _end_on_signals() -> None:
    """End on SIGTERM and SIGHUP as on SIGINT: runs are stopped, temporary folders go. What our
    caller ignores (nohup) stays ignored."""
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    told_of, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    threading.Thread(target=_end_native_code, args=(told_of,), daemon=True).start()


def _end_native_code(told_of: int) -> None:
    """Python's handlers wait until native code returns, which may read a file for minutes."""
    while (number := os.read(told_of, 1)[0]) not in _ENDING:
        pass
    if signal.getsignal(number) is _interrupt and not _HEARD.wait(_GRACE):
        os._exit(128 + number)


def _interrupt(number: int, frame: object) -> NoReturn:
    _HEARD.set()
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)  # what is being cleaned up is cleaned up whole
    raise KeyboardInterrupt(number)


def _signal_of(error: BaseException) -> int:
    """The signal that interrupted: click raises Abort from what it caught."""
    cause = error.__cause__ or error
    return cause.args[0] if cause.args and isinstance(cause.args[0], int) else signal.SIGINT


def _complain(message: str, debug: bool) -> None:
    with contextlib.suppress(OSError):
        if debug:
            import traceback

            terminal.tell(traceback.format_exc().rstrip("\n"))
        terminal.tell(f"profdiff: {in_line(message)}")
