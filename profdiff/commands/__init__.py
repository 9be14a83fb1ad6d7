"""The commands: one file each, loaded when it is asked for, by this list."""

from typing import NamedTuple


class Command(NamedTuple):
    """``place``: module and function; ``help``: its line in the list of commands."""

    place: str
    help: str


COMMANDS = {
    "record": Command("record:record", "Record COMMAND on two or more kernels."),
    "plan": Command("plan:plan", "Show what record would run, and how long it takes."),
    "options": Command("options:options", "Show what options of a config, or of a boot, cost."),
    "merge": Command("merge:merge", "Put the shards of a recording together."),
    "report": Command("report:report", "Show the results of a session."),
    "atlas": Command("atlas:atlas", "Make a site of suites and sessions: cells over releases."),
    "annotate": Command("annotate:annotate", "Show a function's code, counted by instruction."),
    "coverage": Command(
        "coverage:coverage", "Write which source lines executed, as lcov tracefiles."
    ),
    "layout": Command("layout:layout", "Show which fields of types moved to another cache line."),
    "size": Command("size:size", "Show how many bytes sections, functions and types take."),
    "codegen": Command("codegen:codegen", "Show what compilers make of a function."),
    "impact": Command("impact:impact", "Show what a change adds to a real program."),
    "check": Command("check:check", "Check conditions on the changes in a session."),
    "blame": Command("blame:blame", "Show which commits a delta's instructions belong to."),
    "bisect": Command("bisect:bisect", "Find the commit that made COMMAND slower."),
    "mail": Command("mail:mail", "Draft a mail about a session."),
    "lkp": Command("lkp:lkp", "Explain a slowdown that the 0-day robot reported."),
    "mcp": Command("mcp:mcp", "Answer an assistant's questions about recordings."),
    "import": Command("imports:import_", "Make a session from existing recordings."),
    "diff": Command("imports:diff", "Compare existing recordings."),
    "calibrate": Command(
        "calibrate:calibrate", "Measure what operations cost on this machine's processor."
    ),
    "doctor": Command("doctor:doctor", "Show what recording needs, and what is missing."),
    "kernel": Command("kernel:kernel", "Name kernels, list, fetch and build them."),
    "example": Command("example:example", "Copy a published experiment here, or list them."),
    "completion": Command("completion:completion", "Print a script for completion in a shell."),
    "header": Command("example:header", "Print the folder of profdiff.h."),
}
