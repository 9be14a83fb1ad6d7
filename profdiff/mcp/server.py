"""The server: tools over standard input and output, for the one program that started it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from inspect import getdoc, isawaitable
from pathlib import Path
from typing import Any

from profdiff import __version__
from profdiff.base.errors import InputError, in_line, told
from profdiff.mcp.answer import answer
from profdiff.mcp.folder import Folder
from profdiff.mcp.recorder import Recorder
from profdiff.mcp.tools import Tools

_ABOUT = (
    "profdiff counts every instruction that kernels execute for a workload, and says which "
    "functions, inlined ones included, cost more on one kernel than on another. Begin with "
    "`sessions`, then `report`; `annotate`, `blame` and `events` say more of a change. Counts are "
    "not time."
)
_Tool = Callable[..., str | Awaitable[str]]


def serve(folder: Path, *, allow_record: bool) -> None:
    """Answer until standard input ends. Raises InputError where ``folder`` is none."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    served = Folder(folder)
    server: Any = MCPServer(
        "profdiff", instructions=_ABOUT, version=__version__, log_level="ERROR", subscriptions=False
    )
    server.call_tool = _marked(server.call_tool)
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


def _marked(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """What calls a tool, whose errors are answers, too, since they quote names: also those that
    MCP's own package has for arguments."""
    from mcp.server.mcpserver.exceptions import ToolError

    async def marked(*arguments: Any, **named: Any) -> Any:
        try:
            return await call(*arguments, **named)
        except ToolError as error:
            raise ToolError(answer(in_line(str(error)), "ask otherwise")) from error

    return marked


def _answering(tool: _Tool) -> Callable[..., Awaitable[str]]:
    """A tool whose errors are one line each. It works in this thread: one question after the
    other, as everything in profdiff."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def answered(*arguments: Any, **named: Any) -> str:
        try:
            _check(named)
            found = tool(*arguments, **named)
            return await found if isawaitable(found) else found
        except Exception as error:
            raise ToolError(in_line(told(error))) from error

    return answered


def _check(named: Mapping[str, Any]) -> None:
    """Raises InputError for a text that cannot be a name or a word of a command here: JSON has some
    that Linux does not."""
    for name, value in named.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and ("\0" in text or _is_odd(text)):
                raise InputError(f"{name}: a NUL or half a character is in it")


def _is_odd(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
