"""A model service over real HTTP, in a separate process: Chat Completions as server-sent events.

The model ``echo`` asks for a call of the tool ``echo``, then answers. The model ``groups`` loads the first group, calls
its first tool, then answers. It does as little as it can, so that it holds up no contestant.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.tool_set import ANSWER, FIRST_GROUP, FIRST_TOOL, LOAD_TURN

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_SECONDS = 0.05
_REPOSITORY = Path(__file__).parent.parent
_WAITING_CONNECTIONS = 4_096


@contextmanager
def model_service(seconds: float = MODEL_SECONDS) -> Iterator[str]:
    """Run the service.

    Args:
        seconds: it thinks before each answer.

    Yields:
        The base URL.
    """
    command = [sys.executable, "-m", "benchmarks.model_service", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_REPOSITORY) as process:  # noqa: S603  # this package
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def _chunk(delta: dict[str, Any], reason: str | None = None, **extra: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    document = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "echo", "choices": choices}
    return b"data: " + json.dumps({**document, **extra}).encode() + b"\n\n"


def _response(*chunks: bytes) -> bytes:
    body = b"".join(chunks) + b"data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _call(name: str, **arguments: str) -> bytes:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return _response(
        _chunk(
            {"role": "assistant", "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
        ),
        _chunk({}, "tool_calls", usage=_USAGE),
    )


_TEXT = _response(_chunk({"role": "assistant", "content": ANSWER}), _chunk({}, "stop", usage=_USAGE))
_ANSWERS = {
    "echo": (_call("echo", text=LOAD_TURN), _TEXT),
    "groups": (_call("load_tool_group", group_name=FIRST_GROUP), _call(FIRST_TOOL, text=LOAD_TURN), _TEXT),
}


def _answer_to(request: dict[str, Any]) -> bytes:
    newest_first = [message["role"] for message in reversed(request["messages"])]
    return _ANSWERS[request["model"]][newest_first[: newest_first.index("user")].count("tool")]


async def _serve(seconds: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
                request = json.loads(await reader.readexactly(length))
                if seconds:
                    await asyncio.sleep(seconds)
                writer.write(_answer_to(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=_WAITING_CONNECTIONS)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
