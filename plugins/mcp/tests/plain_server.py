"""An MCP server of the old era without a library, so that it starts at once and can misbehave: its arguments say how.

``tools=FILE`` gives the definitions of its tools as JSON; ``mute`` answers nothing; ``flood`` fills standard error;
``long_line`` sends one line without an end; ``endless`` has pages without an end; ``child`` starts another process in
a separate session; ``exits`` ends before it answers; ``restless`` says after each listing that the list has changed;
``vast`` lists very long descriptions; ``answer_tools=FILE`` gives the whole result of the listing; ``says=FILE``
gives raw answers by the method, or by the method and the name of the tool, with ``$ID`` for the id; ``only=VERSION``
speaks no other one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

OPTIONS = dict(each.partition("=")[::2] for each in sys.argv[1:])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "echo", "description": "Say it again.", "inputSchema": TEXT},
    {"name": "variables", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "die", "description": "End.", "inputSchema": {"type": "object"}},
    {"name": "pids", "description": "Show the processes.", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Ask the user.", "inputSchema": {"type": "object"}},
    {"name": "content", "description": "Return what it is given.", "inputSchema": {"type": "object"}},
]


if "hang" in OPTIONS:
    TOOLS += [
        {"name": name, "description": "Wait.", "inputSchema": {"type": "object"}} for name in ("hang", "progress")
    ]


def definitions() -> list[dict]:
    return json.loads(Path(OPTIONS["tools"]).read_text()) if "tools" in OPTIONS else TOOLS


def complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def send(message: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(name: str, arguments: dict) -> dict:
    if name == "die":
        complain("the disk is on fire")
        os._exit(3)
    if name == "content":
        return arguments
    if name == "ask":
        return {"content": [{"type": "text", "text": ask(arguments)}]}
    texts = {"variables": " ".join(sorted(os.environ)), "pids": " ".join(map(str, PIDS))}
    return {"content": [{"type": "text", "text": texts.get(name, arguments.get("text", ""))}]}


def ask(parameters: dict) -> str:
    """Ask the user by a separate request, as a server of the old era does, once or ``times``."""
    replies = []
    for number in range(parameters.pop("times", 1)):
        send({"id": f"question {number}", "method": "elicitation/create", "params": parameters})
        while (reply := json.loads(sys.stdin.readline())).get("id") != f"question {number}":
            pass
        replies.append(json.dumps(reply.get("result", reply.get("error"))))
    return "\n".join(replies)


def answer(method: str, parameters: dict) -> dict | None:
    if method == "initialize" and OPTIONS.get("only", parameters["protocolVersion"]) != parameters["protocolVersion"]:
        return None
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        return {
            "protocolVersion": OPTIONS.get("only", "2025-11-25"),
            "capabilities": capabilities,
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list" and "answer_tools" in OPTIONS:
        return json.loads(Path(OPTIONS["answer_tools"]).read_text())
    if method == "tools/list":
        more = {"nextCursor": "more"} if "endless" in OPTIONS else {}
        if "vast" in OPTIONS:
            more["tools"] = [
                {"name": f"x{number}", "description": "x" * 1_000_000, "inputSchema": TEXT} for number in range(10)
            ]
        return {"tools": definitions(), **more}
    if method == "tools/call":
        return call(parameters["name"], parameters.get("arguments") or {})
    return None


PIDS = [os.getpid()]
if "child" in OPTIONS:
    PIDS.append(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)
if "exits" in OPTIONS:
    complain("no licence was found")
    sys.exit(7)
if "long_line" in OPTIONS:
    piece = "x" * 1_000_000
    for _ in range(40):
        sys.stdout.write(piece)
    sys.stdout.flush()
sys.stdout.write("a banner that does not belong here\n")
sys.stdout.flush()
while "flood" in OPTIONS and time.monotonic() >= 0:
    sys.stderr.write("noise " * 10_000)
for line in sys.stdin:
    request = json.loads(line)
    if "mute" in OPTIONS or "id" not in request:
        continue
    parameters = request.get("params") or {}
    if parameters.get("name") == "hang":
        complain("called")
        continue
    if parameters.get("name") == "progress":
        token = parameters["_meta"]["progressToken"]
        for step in range(4):
            time.sleep(0.2)
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 4}})
        parameters["arguments"] = {"text": "done after 0.8 s"}
    if "says" in OPTIONS:
        said = json.loads(Path(OPTIONS["says"]).read_text())
        key = f"{request['method']} {parameters.get('name', parameters.get('cursor', ''))}".strip()
        text = said.get(key, said.get(request["method"]))
        if text == "exit":
            sys.exit(1)
        if text is not None:
            sys.stdout.write(text.replace("$ID", json.dumps(request["id"])) + "\n")
            sys.stdout.flush()
            continue
    result = answer(request["method"], request.get("params") or {})
    outcome = (
        {"error": {"code": -32601, "message": f"unknown; supported: {OPTIONS.get('only')}"}}
        if result is None
        else {"result": result}
    )
    send({"id": request["id"], **outcome})
    if "restless" in OPTIONS and request["method"] == "tools/list":
        send({"method": "notifications/tools/list_changed"})
