"""Drives `gantry mcp` with the Python package of the Model Context Protocol, and prints what came as JSON.

usage: mcp_client.py COMMAND...; the calls are read from standard input: [[tool, arguments], ...]
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters, stdio_client


async def main() -> None:
    calls = json.load(sys.stdin)
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        tools = await client.list_tools()
        out = {
            "tools": {t.name: t.annotations.destructive_hint if t.annotations else None for t in tools.tools},
            "results": [],
        }
        for name, arguments in calls:
            r = await client.call_tool(name, arguments)
            text = "".join(getattr(c, "text", "") for c in r.content)
            out["results"].append({"isError": bool(r.is_error), "text": text, "document": r.structured_content})
        print(json.dumps(out))


asyncio.run(main())
