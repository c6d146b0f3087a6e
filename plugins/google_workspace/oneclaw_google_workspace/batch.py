"""Many requests in one: Google's batch endpoints, which take and answer ``multipart/mixed``."""

from __future__ import annotations

import re
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import httpx

from oneclaw_google_workspace.api_request import ApiRequest
from oneclaw_google_workspace.client import answer_to
from oneclaw_google_workspace.failures import read_failure, unclear
from oneclaw_google_workspace.methods import Method
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.failures import Failure

# Google takes 100; Gmail answers the later parts of long batches with rate limits.
_MAX_PARTS = 50
_MAX_GMAIL_PARTS = 25

_CONTENT_ID = re.compile(r"(\d+)>?\s*$")


class Part:
    """The answer to one request of a batch: status, headers with names in lower case, and content."""

    __slots__ = ("content", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.status = status
        self.headers = headers
        self.content = content


async def send_batch(client: GoogleClient, requests: Sequence[ApiRequest]) -> list[dict[str, Any] | GoogleError]:
    """See :meth:`~oneclaw_google_workspace.client.GoogleClient.batch`."""
    if not requests:
        return []
    size = _MAX_GMAIL_PARTS if requests[0].method.id.startswith("gmail.") else _MAX_PARTS
    outcomes: dict[int, dict[str, Any] | GoogleError] = {}
    for start in range(0, len(requests), size):
        try:
            await _settle(client, dict(enumerate(requests[start : start + size], start)), outcomes)
        except GoogleError as error:
            if not any(isinstance(outcome, dict) for outcome in outcomes.values()):
                raise
            # What was done before is done, and must be told; the rest is not even tried.
            untried = GoogleError("service_unavailable", f"Not tried, because of what came before: {error}")
            outcomes.update({number: untried for number in range(len(requests)) if number not in outcomes})
            break
    return [outcomes[number] for number in range(len(requests))]


async def _settle(
    client: GoogleClient, waiting: dict[int, ApiRequest], outcomes: dict[int, dict[str, Any] | GoogleError]
) -> None:
    """Send the requests of one batch until each has an outcome; only those that failed are sent again."""
    tries = 0
    refused: str | None = None
    while waiting:
        tries += 1
        try:
            authorization = await _authorization(client, waiting, refused)
            refused = None
            parts = await _exchange(client, waiting, authorization)
        except GoogleError as error:
            outcomes.update(dict.fromkeys(waiting, error))
            raise
        failures: dict[int, Failure] = {}
        for number, request in waiting.items():
            part = parts.get(number)
            if part is None:
                outcomes[number] = _left_out(request)
            elif 200 <= part.status < 300:
                try:
                    outcomes[number] = answer_to(request, part.content, part.status)
                except GoogleError as error:
                    outcomes[number] = error
            else:
                failures[number] = read_failure(part.status, part.headers, part.content)
                outcomes[number] = client.error(failures[number], request)
        again = [number for number, failure in failures.items() if _can_repeat(failure, waiting[number], tries)]
        if not again:
            return
        if any(failures[number].is_unauthorized for number in again):
            refused = authorization
        else:
            pauses = [failures[number].retry_after_seconds for number in again]
            longest = max((pause for pause in pauses if pause is not None), default=None)
            if not await client.patience.wait(tries, longest):
                return
        waiting = {number: waiting[number] for number in again}


def _left_out(request: ApiRequest) -> GoogleError:
    problem = "Google's answer leaves this one out"
    return GoogleError("execution_error", f"{problem}.") if request.method.is_reading else unclear(request, problem)


def _can_repeat(failure: Failure, request: ApiRequest, tries: int) -> bool:
    if failure.is_unauthorized:
        return tries == 1
    return failure.is_rate_limit or (failure.is_transient and request.is_repeatable)


async def _authorization(client: GoogleClient, requests: dict[int, ApiRequest], refused: str | None) -> str:
    writing = [request for request in requests.values() if not request.method.is_reading]
    return await client.authorization(next(iter(writing or requests.values())), refused)


async def _exchange(client: GoogleClient, requests: dict[int, ApiRequest], authorization: str) -> dict[int, Part]:
    first = next(iter(requests.values()))
    boundary = f"batch_{token_hex(16)}"
    envelope = _envelope(requests)
    _, headers, content = await client.exchange(
        envelope,
        envelope.url,
        verb="POST",
        headers={"Content-Type": f"multipart/mixed; boundary={boundary}"},
        content=_written(requests, boundary, authorization),
    )
    try:
        return read_parts(headers.get("content-type", ""), content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # Python's parser of mails raises all
        problem = f"The {first.method.api.title}'s answer to a batch cannot be read"
        if envelope.method.is_reading:
            raise GoogleError("execution_error", f"{problem}.") from None
        raise unclear(envelope, problem) from None


def _envelope(requests: dict[int, ApiRequest]) -> ApiRequest:
    """The request that carries the others: it can be repeated if each of them can, and reads if each of them does."""
    methods = [request.method for request in requests.values()]
    method = Method(
        methods[0].id,
        "POST",
        methods[0].api.batch_path,
        is_repeatable=True,
        is_reading=all(each.is_reading for each in methods),
        takes_all_drives=False,
    )
    is_repeatable = all(request.is_repeatable for request in requests.values())
    hint = next((request.unclear_hint for request in requests.values() if request.unclear_hint), "")
    return ApiRequest(method, method.path, None, is_repeatable, hint)


def _written(requests: dict[int, ApiRequest], boundary: str, authorization: str) -> bytes:
    pieces: list[bytes] = []
    for number, request in requests.items():
        content = request.content
        lines = [
            f"--{boundary}",
            "Content-Type: application/http",
            f"Content-ID: <{number}>",
            "",
            f"{request.method.verb} {request.target} HTTP/1.1",
            f"Authorization: {authorization}",
        ]
        if content is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        pieces.append("\r\n".join([*lines, "", ""]).encode() + (content or b"") + b"\r\n")
    return b"".join(pieces) + f"--{boundary}--\r\n".encode()


def read_parts(content_type: str, content: bytes) -> dict[int, Part]:
    """Take the answer to a batch apart.

    Args:
        content_type: of the answer, with its boundary.
        content: the body.

    Returns:
        The answers by the number of their request.

    Raises:
        ValueError: it is not what a batch is answered with.
    """
    from email import policy
    from email.parser import BytesParser

    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + content)
    if not message.is_multipart():
        raise ValueError(content_type)
    found: dict[int, Part] = {}
    for each in message.iter_parts():
        match = _CONTENT_ID.search(str(each.get("Content-ID", "")))
        if match is not None:
            payload = each.get_payload(decode=True)
            found[int(match[1])] = _read_response(payload if isinstance(payload, bytes) else b"")
    return found


def _read_response(content: bytes) -> Part:
    head, _, body = content.replace(b"\r\n", b"\n").lstrip(b"\n").partition(b"\n\n")
    status_line, *lines = head.decode("latin-1").split("\n")
    words = status_line.split(None, 2)
    if len(words) < 2 or not words[1].isdigit():
        raise ValueError(status_line)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Part(int(words[1]), dict(httpx.Headers(headers)), body)
