"""A stand-in for Google on loopback, made from Google's own descriptions of its APIs.

Requests come with the host as the first part of the path, as ``ONECLAW_GOOGLE_API_BASE`` has them sent. Whatever does
not fit the description is answered with 400 and kept in :attr:`GoogleServer.misfits`, which the fixture checks to be
empty at the end. Services live in modules ``google_NAME_service.py``, each with a class ``SERVICE``.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
import tempfile
import threading
import traceback
from dataclasses import dataclass, field
from email import policy
from email.parser import BytesParser
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl, urlsplit

from google_discovery import Described, Misfit, check_body, check_response, document_of, find_method, masked, read_query
from google_oauth import OAuth, OAuthError
from google_service import ApiError, Call, Media, Service

_PIECE_BYTES = 1024 * 1024
_BATCH_PATHS = {"/batch", "/batch/drive/v3", "/batch/calendar/v3"}


@dataclass
class Fault:
    """Something that goes wrong on purpose.

    Attributes:
        where: the id of a method or its beginning; ``token`` for the token endpoint, ``upload`` for a piece of an
            upload, ``batch`` for a batch as a whole.
        status: of the answer; with 0 the connection ends without one.
        reason: Google's word for it.
        times: how often.
        retry_after: the header.
        is_after: whether the request is carried out all the same.
        cut_at: send only so many bytes of the real answer, then hang up.
        delay: wait for this event before answering, for slow answers.
        content: answer this instead.
    """

    where: str
    status: int = 503
    reason: str = "backendError"
    times: int = 1
    retry_after: str | None = "0"
    is_after: bool = False
    cut_at: int | None = None
    delay: threading.Event | None = None
    content: bytes | None = None


@dataclass(frozen=True)
class Seen:
    """A request that came, parts of batches included.

    Attributes:
        method_id: what it called; ``token``, ``upload``, ``batch`` and the like for what is not a method.
        verb: of HTTP.
        target: path and query, without the host.
        body: JSON data, ``None`` if there was none.
        headers: with names in lower case.
    """

    method_id: str
    verb: str
    target: str
    body: Any
    headers: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass
class Answer:
    """What goes back: a status, headers, and content in memory or in a file."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | Path = b""
    cut_at: int | None = None
    is_hung_up: bool = False


@dataclass
class Upload:
    """An upload that has begun."""

    method: Described
    parameters: dict[str, Any]
    body: dict[str, Any]
    user: str
    media_type: str
    size: int
    path: Path
    received: int = 0
    answer: Answer | None = None


class GoogleServer:
    """The stand-in, from entering to leaving the context.

    Attributes:
        url: what ``ONECLAW_GOOGLE_API_BASE`` is to be.
        oauth: who is let in.
        services: by the first word of their methods' ids.
        requests: all that came, in order.
        misfits: what did not fit a description.
        page_tokens: what page tokens stand for.
        switched_off: APIs that the Cloud project has switched off.
        links: what is behind addresses of other hosts that were answered, by host and path.
    """

    def __init__(self) -> None:
        self.oauth = OAuth()
        self.requests: list[Seen] = []
        self.misfits: list[str] = []
        self.page_tokens: dict[str, tuple[str, int]] = {}
        self.switched_off: set[str] = set()
        self.links: dict[str, Media] = {}
        self._faults: list[Fault] = []
        self._uploads: dict[str, Upload] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="google-stand-in-"))
        self._lock = threading.Lock()
        self.services: dict[str, Service] = {name: make(self) for name, make in _services().items()}
        self._handlers = {
            method_id: handler
            for service in self.services.values()
            for method_id, handler in service.handlers().items()
        }
        owner = self

        class Connection(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def log_message(self, *_: Any) -> None:
                """Tests look at requests, not at logs."""

            def do_GET(self) -> None:
                owner._serve(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  # names of the base class

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients that go away are what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Connection)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> GoogleServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fail(self, where: str, status: int = 503, reason: str = "backendError", **how: Any) -> None:
        """Let something go wrong; see :class:`Fault`."""
        self._faults.append(Fault(where, status, reason, **how))

    def heal(self) -> None:
        """Let nothing more go wrong."""
        self._faults.clear()

    def called(self, prefix: str = "") -> list[str]:
        """The ids of the methods that were called, in order."""
        return [each.method_id for each in self.requests if each.method_id.startswith(prefix)]

    def bodies(self, method_id: str) -> list[Any]:
        """What a method was sent, call by call."""
        return [each.body for each in self.requests if each.method_id == method_id]

    def queries(self, method_id: str) -> list[dict[str, Any]]:
        """What a method was asked in its query, call by call; repeated parameters as lists."""
        found = []
        for each in self.requests:
            if each.method_id == method_id:
                values: dict[str, Any] = {}
                for name, value in parse_qsl(urlsplit(each.target).query, keep_blank_values=True):
                    values[name] = (
                        [*values[name], value]
                        if isinstance(values.get(name), list)
                        else ([values[name], value] if name in values else value)
                    )
                found.append(values)
        return found

    # Taking requests apart

    def _serve(self, connection: BaseHTTPRequestHandler) -> None:
        length = int(connection.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in connection.headers.items()}
        target = connection.path
        parts = urlsplit(target)
        if parts.path.startswith("/upload-session/"):
            answer = self._receive_piece(connection, parts.path.rpartition("/")[2], headers, length)
        else:
            content = connection.rfile.read(length)
            host, _, path = parts.path.lstrip("/").partition("/")
            answer = self._answer(host, connection.command, f"/{path}", parts.query, headers, content)
        self._send(connection, answer)

    def _answer(self, host: str, verb: str, path: str, query: str, headers: dict[str, str], content: bytes) -> Answer:
        if host == "accounts.google.com":
            return self._authorize(query)
        if host == "oauth2.googleapis.com":
            return self._oauth_endpoint(path, headers, content)
        if path in _BATCH_PATHS and verb == "POST":
            return self._batch(host, path, headers, content)
        if f"{host}{path}" in self.links:
            self.requests.append(Seen("link", verb, f"{host}{path}", None, headers))
            return _media_answer(self.links[f"{host}{path}"], headers)
        return self._call(host, verb, path, query, headers, content)

    def _call(self, host: str, verb: str, path: str, query: str, headers: dict[str, str], content: bytes) -> Answer:
        target = f"{path}?{query}" if query else path
        found = find_method(host, verb, path)
        if found is None:
            return self._misfit(f"{verb} {host}{path} is not a method")
        method, path_values = found
        try:
            body = json.loads(content) if content else None
        except ValueError:
            return self._misfit(f"{method.id}: the body is not JSON: {content[:200]!r}")
        self.requests.append(Seen(method.id, verb, target, body, headers))
        fault = self._fault(method.id)
        if fault is not None and not fault.is_after and fault.cut_at is None:
            return self._faulty(fault)
        try:
            if body is not None and "json" not in headers.get("content-type", ""):
                raise Misfit("the body has no Content-Type of JSON")
            parameters = read_query(method, path_values, query)
            check_body(method, body)
            user = self._user(method, headers)
            if method.is_upload:
                answer = self._begin_upload(method, parameters, body or {}, user, headers)
            else:
                call = Call(method, parameters, body or {}, user, self.url, headers=headers)
                answer = self._run(call, headers)
        except Misfit as misfit:
            return self._misfit(f"{method.id}: {misfit}")
        except ApiError as error:
            return _error_answer(error)
        if fault is None:
            return answer
        answer.cut_at = fault.cut_at
        return self._faulty(fault) if fault.is_after else answer

    def _run(self, call: Call, headers: dict[str, str]) -> Answer:
        handler = self._handlers.get(call.method.id)
        if handler is None:
            self.misfits.append(f"the stand-in does not know {call.method.id}")
            raise ApiError(501, "notImplemented", f"the stand-in does not know {call.method.id}")
        with self._lock:
            try:
                value = handler(call)
            except (ApiError, Misfit):
                raise
            except Exception as error:
                self.misfits.append(f"the stand-in failed in {call.method.id}:\n{traceback.format_exc()}")
                raise ApiError(500, "internalError", repr(error)) from error
        if isinstance(value, Media):
            return _media_answer(value, headers)
        if value is None:
            return Answer(204)
        value = json.loads(json.dumps(value))
        try:
            check_response(call.method, value)
        except (Misfit, AssertionError) as fault:
            self.misfits.append(f"the stand-in answers what does not fit {call.method.id}: {fault}")
        if "fields" in call.parameters:
            value = masked(call.method, call["fields"], value)
        return _json_answer(value)

    def _user(self, method: Described, headers: dict[str, str]) -> str:
        if method.api in self.switched_off:
            raise ApiError(403, "SERVICE_DISABLED", f"{method.api} API has not been used in project 1234 before.")
        holder = self.oauth.holder(headers.get("authorization", "").removeprefix("Bearer "))
        if holder is None:
            raise ApiError(401, "authError", "Invalid Credentials")
        accepted = method.raw.get("scopes", [])
        if not holder.scopes & set(accepted):
            raise ApiError(403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "Request had insufficient authentication scopes.")
        return holder.user

    # Sign-in

    def _authorize(self, query: str) -> Answer:
        self.requests.append(Seen("authorize", "GET", query, None))
        with self._lock:
            status, text = self.oauth.authorize(query)
        return Answer(status, {"Location": text}) if status == 302 else Answer(status, {}, text.encode())

    def _oauth_endpoint(self, path: str, headers: dict[str, str], content: bytes) -> Answer:
        name = path.lstrip("/")
        form = dict(parse_qsl(content.decode()))
        self.requests.append(Seen(name, "POST", path, form, headers))
        fault = self._fault(name)
        if fault is not None:
            return self._faulty(fault)
        try:
            with self._lock:
                if name == "revoke":
                    self.oauth.revoke(form)
                    return _json_answer({})
                return _json_answer(self.oauth.token(form))
        except OAuthError as error:
            return _json_answer({"error": error.code, "error_description": error.description}, error.status)

    # Batches

    def _batch(self, host: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        self.requests.append(Seen("batch", "POST", path, None, headers))
        fault = self._fault("batch")
        if fault is not None:
            return self._faulty(fault)
        head = f"Content-Type: {headers.get('content-type', '')}\r\n\r\n".encode()
        message = BytesParser(policy=policy.HTTP).parsebytes(head + content)
        if not message.is_multipart():
            return self._misfit("a batch is no multipart/mixed")
        parts = list(message.iter_parts())
        if len(parts) > 100:
            return self._misfit(f"a batch of {len(parts)} parts; Google takes 100")
        pieces = []
        for part in parts:
            if part.get_content_type() != "application/http" or not part.get("Content-ID"):
                return self._misfit("a part of a batch is no application/http with a Content-ID")
            content_id = part["Content-ID"].strip("<>")
            answer = self._answer_part(host, path, part.get_payload(decode=True))
            inner = answer.content if isinstance(answer.content, bytes) else answer.content.read_bytes()
            lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in answer.headers.items())]
            written = "\r\n".join([*lines, f"Content-Length: {len(inner)}", "", ""]).encode() + inner
            opening = f"--batch_answer\r\nContent-Type: application/http\r\nContent-ID: <response-{content_id}>\r\n\r\n"
            pieces.append(opening.encode() + written + b"\r\n")
        return Answer(
            200, {"Content-Type": "multipart/mixed; boundary=batch_answer"}, b"".join(pieces) + b"--batch_answer--\r\n"
        )

    def _answer_part(self, host: str, batch_path: str, content: bytes) -> Answer:
        head, _, body = content.partition(b"\r\n\r\n")
        request_line, *lines = head.decode().split("\r\n")
        verb, target, _ = request_line.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        parts = urlsplit(target)
        found = find_method(host, verb, parts.path)
        if found is not None and f"/{document_of(found[0].api)['batchPath']}" != batch_path:
            return self._misfit(f"{found[0].id} was sent to the batch address {batch_path}")
        length = int(headers.get("content-length", 0))
        return self._call(host, verb, parts.path, parts.query, headers, body[:length])

    # Uploads

    def _begin_upload(
        self, method: Described, parameters: dict[str, Any], body: dict[str, Any], user: str, headers: dict[str, str]
    ) -> Answer:
        if parameters.get("uploadType") != "resumable":
            raise Misfit("only resumable uploads are known here")
        size = headers.get("x-upload-content-length", "")
        if not size.isdigit() or not headers.get("x-upload-content-type"):
            raise Misfit("the upload says neither how long it is nor of which type")
        with self._lock:
            name = f"session-{len(self._uploads) + 1}"
            upload = Upload(
                method, parameters, body, user, headers["x-upload-content-type"], int(size), self._folder / name
            )
            upload.path.touch()
            self._uploads[name] = upload
        return Answer(200, {"Location": f"{self.url}/upload-session/{name}"})

    def _receive_piece(
        self, connection: BaseHTTPRequestHandler, name: str, headers: dict[str, str], length: int
    ) -> Answer:
        self.requests.append(Seen("upload", connection.command, connection.path, headers.get("content-range"), headers))
        upload = self._uploads.get(name)
        fault = self._fault("upload") if length else None
        if upload is None:
            _drain(connection.rfile, length, None)
            return _error_answer(ApiError(404, "notFound", "Session not found."))
        match = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)", headers.get("content-range", ""))
        if match is None or int(match[3]) != upload.size:
            return self._misfit(f"upload: Content-Range {headers.get('content-range')!r} of {upload.size} bytes")
        if upload.answer is not None:
            _drain(connection.rfile, length, None)
            return upload.answer
        if match[1] is not None:
            start, end = int(match[1]), int(match[2])
            is_last = end == upload.size - 1
            if start != upload.received or end - start + 1 != length or (length % (256 * 1024) and not is_last):
                return self._misfit(f"upload: {headers['content-range']} where {upload.received} are there")
            keep = length if fault is None or fault.cut_at is None else fault.cut_at // (256 * 1024) * (256 * 1024)
            if fault is not None and fault.cut_at is None and not fault.is_after:
                keep = 0
            with upload.path.open("r+b") as file:
                file.seek(upload.received)
                _drain(connection.rfile, length, file, keep)
                file.truncate()
            upload.received += keep
        if upload.received == upload.size:
            call = Call(
                upload.method, upload.parameters, upload.body, upload.user, self.url, upload.path, upload.media_type
            )
            try:
                upload.answer = self._run(call, {})
            except ApiError as error:
                upload.answer = _error_answer(error)
            except Misfit as misfit:
                upload.answer = self._misfit(f"{upload.method.id}: {misfit}")
        if fault is not None:
            return self._faulty(fault)
        if upload.answer is not None:
            return upload.answer
        received = {"Range": f"bytes=0-{upload.received - 1}"} if upload.received else {}
        return Answer(308, received)

    # Answers

    def _fault(self, where: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if where == fault.where or (where.startswith(f"{fault.where}.") and "." in where):
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                    break
            else:
                return None
        if fault.delay is not None:
            fault.delay.wait(20)
            if not fault.status:
                return None
        return fault

    @staticmethod
    def _faulty(fault: Fault) -> Answer:
        if not fault.status:
            return Answer(is_hung_up=True)
        if fault.content is not None:
            return Answer(fault.status, {"Content-Type": "text/html"}, fault.content)
        headers = {"Retry-After": fault.retry_after} if fault.retry_after is not None else {}
        return _error_answer(ApiError(fault.status, fault.reason, f"injected: {fault.reason}", headers))

    def _misfit(self, message: str) -> Answer:
        self.misfits.append(message)
        return _error_answer(ApiError(400, "badRequest", message))

    @staticmethod
    def _send(connection: BaseHTTPRequestHandler, answer: Answer) -> None:
        connection.close_connection = True
        if answer.is_hung_up:
            return
        is_file = isinstance(answer.content, Path)
        start = int(answer.headers.pop("X-Start", 0))
        size = (answer.content.stat().st_size if is_file else len(answer.content)) - start
        connection.send_response(answer.status)
        for name, value in answer.headers.items():
            connection.send_header(name, value)
        if answer.status != 204:
            connection.send_header("Content-Length", str(size))
        connection.send_header("Connection", "close")
        connection.end_headers()
        left = size if answer.cut_at is None else min(size, answer.cut_at)
        if not is_file:
            connection.wfile.write(answer.content[start : start + left])
            return
        with answer.content.open("rb") as file:
            file.seek(start)
            while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
                connection.wfile.write(piece)
                left -= len(piece)


@cache
def _services() -> dict[str, type[Service]]:
    found = {}
    for path in sorted(Path(__file__).parent.glob("google_*_service.py")):
        name = path.stem.removeprefix("google_").removesuffix("_service")
        found[name] = importlib.import_module(path.stem).SERVICE
    return found


def _drain(stream: IO[bytes], length: int, file: IO[bytes] | None, keep: int = 0) -> None:
    """Read a body piece by piece, and write its beginning to a file; of nothing but zeros, it becomes a hole."""
    while length > 0 and (piece := stream.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
        if file is not None and keep > 0:
            kept = piece[:keep]
            if kept.count(0) == len(kept):
                file.seek(len(kept), 1)
            else:
                file.write(kept)
        keep -= len(piece)


def _json_answer(value: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json; charset=UTF-8"}, json.dumps(value).encode())


def _error_answer(error: ApiError) -> Answer:
    answer = _json_answer(error.document(), error.status)
    answer.headers |= error.headers
    return answer


def _media_answer(media: Media, headers: dict[str, str]) -> Answer:
    found = {"Content-Type": media.media_type}
    if media.etag is not None:
        found["ETag"] = media.etag
    match = re.fullmatch(r"bytes=(\d+)-", headers.get("range", ""))
    if match and media.etag is not None and headers.get("if-range") == media.etag:
        size = len(media.content) if isinstance(media.content, bytes) else media.content.stat().st_size
        found |= {"X-Start": match[1], "Content-Range": f"bytes {match[1]}-{size - 1}/{size}"}
        return Answer(206, found, media.content)
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
    if match:
        return _part_of(media.content, int(match[1]), int(match[2]) + 1, found)
    return Answer(200, found, media.content)


def _part_of(content: bytes | Path, start: int, end: int, headers: dict[str, str]) -> Answer:
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    if start >= size:
        return _error_answer(ApiError(416, "requestedRangeNotSatisfiable", "Request range not satisfiable"))
    if isinstance(content, bytes):
        return Answer(206, headers, content[start:end])
    with content.open("rb") as file:
        file.seek(start)
        return Answer(206, headers, file.read(end - start))
