"""The server: tools over standard input and output, for the one program that started it."""

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import getdoc, isawaitable
from pathlib import Path
from typing import Any

from profdiff import __version__
from profdiff.base.errors import told
from profdiff.base.units import printable
from profdiff.mcp.folder import Folder
from profdiff.mcp.recorder import Recorder
from profdiff.mcp.tools import Tools

_ABOUT = (
    "profdiff counts every instruction that kernels execute for a workload, and says which "
    "functions, inlined ones included, cost more on one kernel than on another. Begin with "
    "`sessions`, then `report`; `annotate`, `blame` and `events` say more of a change. Counts are "
    "not time."
)
_LONGEST = 1000
_Tool = Callable[..., str | Awaitable[str]]


def serve(folder: Path, *, allow_record: bool) -> None:
    """Answer until standard input ends. Raises InputError where ``folder`` is none."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    served = Folder(folder)
    server: Any = MCPServer(
        "profdiff", instructions=_ABOUT, version=__version__, log_level="ERROR", subscriptions=False
    )
    reading = Tools(served)
    tools: dict[_Tool, Any] = dict.fromkeys(
        (
            reading.sessions,
            reading.report,
            reading.annotate,
            reading.blame,
            reading.events,
            reading.check,
        ),
        ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
    if allow_record:
        record: _Tool = Recorder(served).record
        tools[record] = ToolAnnotations(read_only_hint=False, destructive_hint=False)
    for tool, hints in tools.items():
        server.add_tool(
            _answering(tool),
            description=getdoc(tool),
            annotations=hints,
            structured_output=False,
        )
    server.run("stdio")


def _answering(tool: _Tool) -> Callable[..., Awaitable[str]]:
    """A tool whose errors are one line each. It works in this thread: one question after the
    other, as everything in profdiff."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def answered(*arguments: Any, **named: Any) -> str:
        try:
            found = tool(*arguments, **named)
            return await found if isawaitable(found) else found
        except Exception as error:
            raise ToolError(printable(told(error))[:_LONGEST]) from error

    return answered
