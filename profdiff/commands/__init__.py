"""The commands: one file each, loaded when it is asked for, by this list, as help has them."""

from typing import NamedTuple


class Command(NamedTuple):
    """``group``: its heading in the list of commands; ``place``: module and function; ``help``: its
    line."""

    group: str
    place: str
    help: str


_RECORD = "Record"
_READ = "Read"
_FIND = "Find the commit"
_TELL = "Tell others"
_SET_UP = "Set up"


COMMANDS = {
    "record": Command(_RECORD, "record:record", "Record COMMAND on two or more kernels."),
    "plan": Command(_RECORD, "plan:plan", "Show what record would run, and how long it takes."),
    "options": Command(
        _RECORD, "options:options", "Show what options of a config, or of a boot, cost."
    ),
    "merge": Command(_RECORD, "merge:merge", "Put the shards of a recording together."),
    "import": Command(_RECORD, "imports:import_", "Make a session from existing recordings."),
    "report": Command(_READ, "report:report", "Show the results of a session."),
    "compare": Command(_READ, "merge:compare", "Compare the kernels of two recordings."),
    "diff": Command(_READ, "imports:diff", "Compare existing recordings."),
    "atlas": Command(
        _READ, "atlas:atlas", "Make a site of suites and sessions: cells over releases."
    ),
    "annotate": Command(
        _READ, "annotate:annotate", "Show a function's code, counted by instruction."
    ),
    "coverage": Command(
        _READ, "coverage:coverage", "Write which source lines executed, as lcov tracefiles."
    ),
    "layout": Command(
        _READ, "layout:layout", "Show which fields of types moved to another cache line."
    ),
    "size": Command(_READ, "size:size", "Show how many bytes sections, functions and types take."),
    "codegen": Command(_READ, "codegen:codegen", "Show what compilers make of a function."),
    "impact": Command(_READ, "impact:impact", "Show what a change adds to a real program."),
    "check": Command(_READ, "check:check", "Check conditions on the changes in a session."),
    "blame": Command(_FIND, "blame:blame", "Show which commits a delta's instructions belong to."),
    "bisect": Command(_FIND, "bisect:bisect", "Find the commit that made COMMAND slower."),
    "mail": Command(_TELL, "mail:mail", "Draft a mail about a session."),
    "lkp": Command(_TELL, "lkp:lkp", "Explain a slowdown that the 0-day robot reported."),
    "mcp": Command(_TELL, "mcp:mcp", "Answer an assistant's questions about recordings."),
    "doctor": Command(_SET_UP, "doctor:doctor", "Show what recording needs, and what is missing."),
    "calibrate": Command(
        _SET_UP, "calibrate:calibrate", "Measure what operations cost on this machine's processor."
    ),
    "kernel": Command(_SET_UP, "kernel:kernel", "Name kernels, list, fetch and build them."),
    "example": Command(
        _SET_UP, "example:example", "Copy a published experiment here, or list them."
    ),
    "completion": Command(
        _SET_UP, "completion:completion", "Print a script for completion in a shell."
    ),
    "header": Command(_SET_UP, "example:header", "Print the folder of profdiff.h."),
}

# Options of a long help by heading (profdiff.commands.command).
MAIL_HEADINGS = {
    "What the mail says": (
        *("--at", "--cell", "--top", "--without", "--types", "--sharing", "--inventory"),
        *("--subject", "--regression", "--real-use", "--reproducer", "--with-source"),
        *("--checklist", "--cover-letter", "--attach", "--repo", "--base", "--new"),
    ),
    "To whom": ("--from", "--to", "--cc", "--thread", "--reply-to", "--quote"),
    "Trailers": (
        *("--fixes", "--reported-by", "--closes", "--link", "--regzbot"),
        "--regzbot-introduced",
    ),
    "The draft": ("--output", "--force"),
}
