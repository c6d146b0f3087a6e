"""A model service over real HTTP, in a separate process: Chat Completions, as server-sent events where asked for.

The models ``echo`` and ``first_tool`` ask for a call of a tool, then answer. The model ``groups`` loads the first
group, calls its first tool, then answers. The model ``pieces`` answers in many pieces, any other model in one. The
service does as little as it can, so that it holds up no contestant.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.tool_set import ANSWER, FIRST_GROUP, FIRST_TOOL, LOAD_TURN, PIECES

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_SECONDS = 0.05
_REPOSITORY = Path(__file__).parent.parent
_WAITING_CONNECTIONS = 4_096
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@contextmanager
def model_service(seconds: float = MODEL_SECONDS, record: Path | None = None) -> Iterator[str]:
    """Run the service.

    Args:
        seconds: it thinks before each answer.
        record: the file to which it appends the body of each request, one a line.

    Yields:
        The base URL.
    """
    command = [sys.executable, "-m", "benchmarks.model_service", str(seconds), str(record or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_REPOSITORY) as process:  # noqa: S603  # this package
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def _response(content_type: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _document(kind: str, choice: dict[str, Any], **extra: Any) -> bytes:
    choices = [{"index": 0, **choice}]
    return json.dumps({"id": "c", "object": kind, "created": 1, "model": "m", "choices": choices, **extra}).encode()


class _Answer:
    """A message of the model, as both kinds of responses."""

    def __init__(self, message: dict[str, Any], reason: str, pieces: tuple[str, ...] = ()) -> None:
        message = {"role": "assistant", **message}
        self.whole = _response(
            "application/json",
            _document("chat.completion", {"message": message, "finish_reason": reason}, usage=_USAGE),
        )
        calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls", ()))]
        deltas = [message | {"tool_calls": calls} if calls else message, *({"content": piece} for piece in pieces)]
        chunks = [_document("chat.completion.chunk", {"delta": each, "finish_reason": None}) for each in deltas]
        chunks.append(_document("chat.completion.chunk", {"delta": {}, "finish_reason": reason}, usage=_USAGE))
        events = b"".join(b"data: " + chunk + b"\n\n" for chunk in [*chunks, b"[DONE]"])
        self.streamed = _response("text/event-stream", events)


def _call(name: str, **arguments: str) -> _Answer:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return _Answer({"tool_calls": [{"id": "c", "type": "function", "function": function}]}, "tool_calls")


_TEXT = _Answer({"content": ANSWER}, "stop")
_ANSWERS = {
    "echo": (_call("echo", text=LOAD_TURN), _TEXT),
    "first_tool": (_call(FIRST_TOOL, text=LOAD_TURN), _TEXT),
    "groups": (_call("load_tool_group", group_name=FIRST_GROUP), _call(FIRST_TOOL, text=LOAD_TURN), _TEXT),
    "pieces": (_Answer({"content": ""}, "stop", tuple(f"word{number} " for number in range(PIECES))),),
}
_MODELS = _response(
    "application/json", json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
)


def _answer_to(request: dict[str, Any]) -> bytes:
    newest_first = [message["role"] for message in reversed(request["messages"])]
    answers = _ANSWERS.get(request["model"], (_TEXT,))
    answer = answers[newest_first[: newest_first.index("user")].count("tool")]
    return answer.streamed if request.get("stream") else answer.whole


def _record(path: Path, request: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(request) + "\n")


async def _serve(seconds: float, record: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
                body = await reader.readexactly(length)
                if not body:
                    writer.write(_MODELS)
                    continue
                request = json.loads(body)
                if record:
                    _record(Path(record), request)
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
    asyncio.run(_serve(float(sys.argv[1]), sys.argv[2]))
