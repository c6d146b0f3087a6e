"""An MCP server with tools like those of real ones, in the standard library alone, so that it holds up no contestant.

``mcp_server.py NUMBER TOOLS`` speaks on standard input and output, ``mcp_server.py NUMBER TOOLS http`` on a free port
of the loopback, which it prints. Each tool gives back its ``text``. It imports nothing of this package, because
sandboxes show it no other file.
"""

from __future__ import annotations

import json
import sys
from typing import Any

VERBS = ("create", "delete", "get", "list", "update")
NOUNS = ("branch", "comment", "commit", "issue", "label", "milestone", "project", "release", "review", "workflow")
FIRST_TOOL = "create_branch"


def definitions(number: int, count: int) -> list[dict[str, Any]]:
    """Return the definitions of the tools of a server, at most fifty."""
    names = [(verb, noun) for verb in VERBS for noun in NOUNS][:count]
    return [
        {
            "name": f"{verb}_{noun}",
            "description": (
                f"{verb.capitalize()} a {noun} in a repository of service {number}. Use it when the user asks to "
                f"{verb} a {noun}, and pass the owner and the name of the repository. It needs access to the "
                "repository, and fails if there is no such."
            ),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": f"What the {noun} says, in Markdown"},
                    "owner": {"type": "string", "description": "The owner of the repository: a user or organization"},
                    "repository": {"type": "string", "description": "The name of the repository, without its owner"},
                    "page": {"type": "integer", "description": "Which page of the results, from 1 on", "minimum": 1},
                    "order": {"type": "string", "enum": ["newest", "oldest", "updated"], "description": "Their order"},
                },
                "required": ["text"],
            },
        }
        for verb, noun in names
    ]


def answered(request: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer to a request."""
    method, parameters = request["method"], request.get("params") or {}
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "benchmark", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": parameters["arguments"]["text"]}]}
    elif method == "ping":
        result = {}
    else:
        return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "unknown method"}}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def serve_stdio(tools: list[dict[str, Any]]) -> None:
    """Answer lines until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.write(json.dumps(answered(request, tools)) + "\n")
            sys.stdout.flush()


def serve_http(tools: list[dict[str, Any]]) -> None:
    """Answer POST requests with JSON until the input ends."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answered(request, tools)).encode() if "id" in request else b""
            self._send(200 if body else 202, body)

        def do_GET(self) -> None:
            self._send(405, b"")

        def do_DELETE(self) -> None:
            self._send(405, b"")

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the base class's name
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    found = definitions(int(sys.argv[1]), int(sys.argv[2]))
    (serve_http if "http" in sys.argv[3:] else serve_stdio)(found)
