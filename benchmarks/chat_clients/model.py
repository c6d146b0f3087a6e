"""A model service that answers by what the user says, and notes what it was sent."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = ("Hello ", "from ", "the model.")
SILENT_SECONDS = 12.0


class ScriptedService:
    """A server of Chat Completions on a free port.

    Attributes:
        requests: the bodies it was sent.
        left: how often a client left before the end of an answer.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.left = 0
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Log nothing."""

            def do_GET(self) -> None:
                self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append(body)
                said = last_words(body)
                if "fail" in said:
                    self._send(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
                    return
                try:
                    self._stream(said)
                except OSError:
                    service.left += 1

            def _send(self, status: int, document: dict[str, Any]) -> None:
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, said: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                if "silent" in said:
                    time.sleep(SILENT_SECONDS)
                pieces = [f"{number} " for number in range(600)] if "endless" in said else ANSWER
                for piece in pieces:
                    self._event([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
                    time.sleep(0.1)
                self._event([{"index": 0, "delta": {}, "finish_reason": "stop"}])
                self._event([], usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
                self.wfile.write(b"data: [DONE]\n\n")

            def _event(self, choices: list[Any], **more: Any) -> None:
                head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
                self.wfile.write(f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n".encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()


def last_words(body: dict[str, Any]) -> str:
    """Return the text of the last message."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or ())


def images(body: dict[str, Any]) -> int:
    """Count the images of a request."""
    contents = [each["content"] for each in body["messages"] if isinstance(each["content"], list)]
    return sum(part.get("type") == "image_url" for content in contents for part in content)
