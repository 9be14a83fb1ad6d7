"""The command line: ``profdiff COMMAND``. The one place where an error becomes an exit status."""

import errno
import os
import sys
import traceback
from importlib import import_module

import click

from profdiff import __version__
from profdiff.errors import ProfdiffError

# NumPy's BLAS, which nothing here uses, starts a thread for each processor, and they spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130


# Where each command is. Loading all of them takes longer than reading a small recording.
_COMMANDS = {
    "record": "profdiff.commands.record:record",
    "plan": "profdiff.commands.plan:plan",
    "report": "profdiff.commands.report:report",
    "check": "profdiff.commands.check:check",
    "mail": "profdiff.commands.mail:mail",
    "import": "profdiff.commands.imports:import_",
    "diff": "profdiff.commands.imports:diff",
    "doctor": "profdiff.commands.doctor:doctor",
    "kernel": "profdiff.commands.kernel:kernel",
    "header": "profdiff.commands.header:header",
}


class _Commands(click.Group):
    """Loads a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="profdiff")
@click.option("--debug", is_flag=True, help="Show the trace of an error.")
def cli(debug: bool) -> None:
    """Differential profiler for Linux kernels.

    Record one workload on two or more kernels, then see which functions, inlined ones too, cost
    more.

    \b
      profdiff record --kernel base=KERNEL --kernel new=KERNEL -- ./workload
      profdiff report
    """


def main() -> None:
    """Entry point of the ``profdiff`` program."""
    # Read here as well: an error in the arguments themselves comes before click has parsed them.
    debug = "--debug" in sys.argv[1:]
    try:
        status = cli.main(prog_name="profdiff", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(EXIT_ERROR)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        _complain(f"{error.format_message().rstrip('.')}{hint}", debug)
        sys.exit(EXIT_ERROR)
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted: the same command goes on where this one was", debug)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone (head, less): nothing to say, nor anywhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_ERROR)
    except ProfdiffError as error:
        _complain(str(error), debug)
        sys.exit(EXIT_ERROR)
    except OSError as error:
        _complain(_os_error(error), debug)
        sys.exit(EXIT_ERROR)
    # Everything is written and closed: taking the memory apart piece by piece takes longer than
    # reading a small recording.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os._exit(EXIT_ERROR)
    os._exit(status or 0)


def _os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    text = f"{where}{error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{text}: make room and run the same command again; what is finished is kept"
    return text


def _complain(message: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print("profdiff: " + " ".join(message.split()), file=sys.stderr)
