"""``profdiff mcp``: recordings for an assistant, by the Model Context Protocol. ``docs/mcp.md``
explains it."""
