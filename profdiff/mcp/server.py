"""The server: tools over standard input and output, for the one program that started it."""

import re
from inspect import getdoc
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from profdiff import __version__
from profdiff.base.errors import InputError, in_line, told
from profdiff.mcp.folder import Folder
from profdiff.mcp.tools import Tools, answer

_ABOUT = (
    "profdiff counts every instruction that kernels execute for a workload, and says which "
    "functions, inlined ones included, cost more on one kernel than on another. Begin with "
    "`sessions`, then `report`; `annotate`, `blame` and `topic` explain a change. Counts are not "
    "time."
)


def serve(folder: Path, *, allow_record: bool) -> None:
    """Answer until standard input ends. Raises InputError where ``folder`` is none."""
    tools = Tools(Folder(folder))
    server = _Server(
        "profdiff", instructions=_ABOUT, version=__version__, log_level="ERROR", subscriptions=False
    )
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writing = ToolAnnotations(read_only_hint=False, destructive_hint=False)
    asked = (tools.sessions, tools.report, tools.annotate, tools.blame, tools.topic, tools.check)
    for tool, hints in [
        *((one, reading) for one in asked),
        *([(tools.record, writing)] if allow_record else []),
    ]:
        server.add_tool(tool, description=getdoc(tool), annotations=hints, structured_output=False)
    server.run("stdio")


class _Server(MCPServer):  # type: ignore[misc]
    """Its errors are answers of one line, too, since they quote names."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            for argument, value in arguments.items():
                if _is_odd(value):
                    raise InputError(f"{argument}: a NUL or half a character is in it")
            return await super().call_tool(name, arguments, context)
        except Exception as error:
            # What a tool raised is the cause of what this says of it; a ToolError says it itself.
            cause = error.__cause__ if isinstance(error, ToolError) else error
            why = str(error)
            if cause is not None and str(cause) not in why:
                why = f"Error executing tool {name}: {told(cause)}"
            raise ToolError(answer(in_line(why), "ask otherwise")) from error


def _is_odd(value: Any) -> bool:
    """Whether a text in it cannot be a name or a word of a command: JSON has some that Linux does
    not."""
    if isinstance(value, list):
        return any(map(_is_odd, value))
    return isinstance(value, str) and re.search("[\0\ud800-\udfff]", value) is not None
