"""The network of a running tool: guarded HTTP clients, and what it may connect to and send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http.addresses import is_public_address
from oneclaw_core.http.clients import GuardedClients
from oneclaw_core.http.messages import FOLLOWED, shown_url
from oneclaw_core.permissions.rules import private_place
from oneclaw_core.types.provenance import Mark, MarkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.system.loops import Worker
    from oneclaw_core.tools.calls.running_call import Questions

SEND_PERMISSION = "data.send"
_SHOWN_BODY_CHARACTERS = 4_000


class Sources(Protocol):
    """The origins of the result of a call: see :class:`oneclaw_core.provenance.marks.CallProvenance`."""

    marks: list[Mark]

    async def needs_question(
        self, method: str, url: str, headers: Mapping[str, str], *, has_body: bool, is_followed: bool = False
    ) -> bool:
        """Return True if the user has to agree with a request."""
        ...

    async def finish(self) -> None:
        """Settle the marks, and note which files hold what the session holds."""
        ...


class CallNetwork:
    """Owns the HTTP clients of a call.

    Args:
        questions: of the call.
        provenance: knows which requests the user has to agree with; ``None`` where none is recorded.
        declaration: the hosts that the plugin of the tool may connect to; ``None`` if nothing holds it.
    """

    def __init__(
        self, questions: Questions, provenance: Sources | None, declaration: Declaration | None = None
    ) -> None:
        self._declaration = declaration
        self._questions = questions
        self._provenance = provenance
        # A host with two addresses is no reason to ask twice.
        self._allowed_places: set[str] = set()
        # By whether they are for the plugin's own service.
        self._clients: dict[bool, GuardedClients] = {}

    def clients(self, *, is_service: bool = False) -> GuardedClients:
        """Return the guarded clients of this call, or those for the plugin's own service."""
        self._questions.check_open()
        if is_service not in self._clients:
            allow_request = self._allow_declared if is_service else self._allow_request
            gates = (self._allow_private, self._allow_public, allow_request)
            self._clients[is_service] = GuardedClients(self._questions.loop.loop, self._questions.wait_for, *gates)
        return self._clients[is_service]

    async def allow_address(self, host: str, address: str, port: int) -> None:
        """Go on if the tool may connect to an address.

        Raises:
            PermissionDeniedError: it may not.
        """
        self._require(host)
        await (self._allow_public if is_public_address(address) else self._allow_private)(host, address, port)

    async def allow_url(self, url: str, sends: str) -> None:
        """Go on if the tool may ask for a URL.

        Raises:
            PermissionDeniedError: it may not.
        """
        import httpx

        self._require(httpx.URL(url).host)
        await self._allow_sending(httpx.Request("GET", url), url, sends.encode("utf-8", "replace"))

    async def aclose(self, worker: Worker | None) -> None:
        """Close the clients that the tool used."""
        for clients in self._clients.values():
            await clients.aclose(worker)

    def _require(self, host: str) -> None:
        if self._declaration is not None:
            self._declaration.require_host(host)

    async def _allow_declared(self, request: httpx.Request) -> None:
        self._require(request.url.host)

    async def _allow_request(self, request: httpx.Request) -> None:
        """Ask before a request that the model may have composed is sent, and mark what comes back."""
        self._require(request.url.host)
        url = str(request.url).partition("#")[0]
        await self._allow_sending(request, url, getattr(request, "_content", b""))
        if self._provenance is not None:
            self._provenance.marks.append(Mark.of(MarkKind.OUTSIDE, shown_url(url)))

    async def _allow_sending(self, request: httpx.Request, url: str, body: bytes) -> None:
        if self._provenance is None:
            return
        has_body = (
            bool(body) or request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
        )
        is_followed = FOLLOWED in request.extensions
        question = self._provenance.needs_question(
            request.method, url, plain_headers(request.headers), has_body=has_body, is_followed=is_followed
        )
        if await self._questions.loop.run(question):
            detail = request_in_words(request.method, url, body)
            await self._questions.permission(SEND_PERMISSION, detail, request.url.host)

    async def _allow_public(self, host: str, address: str, port: int) -> None:
        detail = f"connect to {host} at the public address {address}"
        await self._questions.permission("network.public", detail, host)

    async def _allow_private(self, host: str, address: str, port: int) -> None:
        place = private_place(host, address, port)
        if place in self._allowed_places:
            return
        detail = f"connect to {host} at the private address {address}"
        try:
            await self._questions.permission("network.private", detail, place)
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                f"{host} is at the private address {address}. {error}", "network.private"
            ) from None
        self._allowed_places.add(place)


def plain_headers(headers: httpx.Headers) -> dict[str, str]:
    """Return the values of headers by their names, in lower case unless the name has unusual case."""
    found: dict[str, str] = {}
    for raw, value in headers.raw:
        name, text = raw.decode("ascii", "replace"), value.decode("latin-1")
        name = name.lower() if name in (name.lower(), name.title()) else name
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def request_in_words(method: str, url: str, body: bytes | None) -> str:
    """Say what is about to be sent, for the question."""
    text = f"send a {method} request to {url}"
    if not body:
        return text
    shown = body[:_SHOWN_BODY_CHARACTERS].decode("utf-8", "replace")
    more = len(body) - len(body[:_SHOWN_BODY_CHARACTERS])
    return f"{text} with {len(body):,} bytes:\n{shown}" + (f"\n[… {more:,} more bytes]" if more else "")
