"""Logins of browsers by one-time links, tokens of programs, and what each may do."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from oneclaw_core.http import ServerTokens, bearer_token
from oneclaw_serve.errors import Refusal
from oneclaw_serve.placeholders import is_unfilled

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request

    from oneclaw_core.http import ServerToken
    from oneclaw_core.sessions import PluginStorage

LINK_SECONDS = 120
LOGIN_SECONDS = 30 * 86_400
SCOPES = {
    "chat": "use sessions and /v1; chat:AGENT for one agent alone, behind /v1",
    "read": "list sessions, agents, tools, groups and usage",
    "tools": "call tools",
    "manage": "enable and disable tools and groups",
}
_LINK, _LOGIN = "link/", "login/"
FORM_TYPE = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"  # noqa: S105  # the name of a field
_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Caller:
    """A client that has shown who it is.

    Attributes:
        name: of its token; ``browser`` for a person at the page.
        is_person: True for a browser that is logged in: only a person answers questions for permissions.
        scopes: of its token.
        key: the credential's hash, for limits and for what belongs to this client alone.
    """

    name: str
    is_person: bool
    scopes: tuple[str, ...]
    key: str

    def may(self, scope: str) -> bool:
        """Return True if it may do what the scope stands for."""
        return self.is_person or scope in self.scopes or scope.partition(":")[0] in self.scopes

    @property
    def agents(self) -> frozenset[str] | None:
        """The only agents that it may talk to; ``None`` for all."""
        if self.may("chat"):
            return None
        return frozenset(each.partition(":")[2] for each in self.scopes if each.startswith("chat:"))


def check_is_filled_in(request: Request, token: str | None) -> None:
    """Refuse a placeholder in the place of a token; it is no attempt to guess one.

    Raises:
        Refusal: the client's template or settings lack the token.
    """
    given = request.headers.get("authorization", "").strip()
    if given and is_unfilled(token or given.partition(" ")[2]):
        raise Refusal(
            401,
            "unauthorized",
            f"the client did not fill in its key: it sent {given[:80]!r}; set its key to a token of: "
            "oneclaw serve token create NAME",
        )


class RateLimit:
    """Counts events by key, and refuses those that are too many.

    Args:
        count: how many are allowed within the time.
        seconds: the time.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self._count = count
        self._seconds = seconds
        self._times: dict[str, list[float]] = {}

    def is_reached(self, key: str) -> bool:
        """Return True if no more events of this key are allowed now."""
        return len(self._recent(key)) >= self._count

    def note(self, key: str) -> None:
        """Count an event."""
        if len(self._times) > 1_000:
            self._times = {each: times for each in list(self._times) if (times := self._recent(each))}
        self._times[key] = [*self._recent(key), time.monotonic()]

    def check(self, key: str) -> None:
        """Count an event.

        Raises:
            Refusal: there were too many.
        """
        if self.is_reached(key):
            raise Refusal(429, "too_many_requests", "too many requests: wait a minute", headers={"Retry-After": "60"})
        self.note(key)

    def _recent(self, key: str) -> list[float]:
        since = time.monotonic() - self._seconds
        return [each for each in self._times.get(key, ()) if each > since]


class Access:
    """Finds out who sends a request.

    Args:
        storage: of the plugin; shared by all processes of a home.
        cookie: the name of the cookie. Cookies ignore ports, so the port is part of the name.
        is_secure: True if browsers come over TLS.
        proxies: the IP addresses of the TLS proxy, which says where a request comes from.
    """

    def __init__(
        self, storage: PluginStorage, cookie: str, *, is_secure: bool = False, proxies: Collection[str] = ()
    ) -> None:
        self._storage = storage
        self._cookie = cookie
        self._is_secure = is_secure
        self.tokens = ServerTokens(storage)
        self._proxies = frozenset(proxies)
        # By source. What is right is accepted at any time: it cannot be guessed, and a stranger locks out no one.
        self._failures = RateLimit(10, 60)
        self._requests = RateLimit(600, 60)

    async def caller(self, request: Request, *, takes_forms: bool = False) -> Caller:
        """Return the client of a request.

        Args:
            request: from anywhere.
            takes_forms: True if a logged in browser may send a form with its form token instead of JSON.

        Raises:
            Refusal: it has no valid credentials, or sends too many requests.
        """
        token = bearer_token(request.scope)
        check_is_filled_in(request, token)
        found = (
            await self._of_token(token, request) if token is not None else await self._of_cookie(request, takes_forms)
        )
        if found is None:
            raise Refusal(401, "unauthorized", "log in with the link of: oneclaw serve link; or send a valid token")
        self._requests.check(found.key)
        return found

    async def _of_token(self, token: str, request: Request) -> Caller | None:
        found = await self.tokens.find(token)
        if found is None:
            self._failures.check(f"token {source_of(request, self._proxies)}")
            return None
        return Caller(found.name, is_person=False, scopes=found.scopes, key=_key_of(found))

    async def person(self, request: Request) -> Caller:
        """Return the client of a request for a page, which is a logged in browser.

        Raises:
            Refusal: it is none.
        """
        found = await self.caller(request, takes_forms=True)
        if not found.is_person:
            raise Refusal(403, "forbidden", "this page is for a person who is logged in")
        return found

    async def _of_cookie(self, request: Request, takes_forms: bool) -> Caller | None:
        value = request.cookies.get(self._cookie)
        if not value or len(value) > 200:
            return None
        digest = _digest(value)
        if await self._storage.get(f"{_LOGIN}{digest}") is None:
            return None
        is_form = takes_forms and request.method == "POST" and _media_type(request) == FORM_TYPE
        check_same_origin(request, FORM_TYPE if is_form else "application/json")
        if is_form and not await _has_form_token(request, digest):
            raise Refusal(403, "forbidden", "this form is not of this login: load its page again")
        return Caller("browser", is_person=True, scopes=(), key=digest)

    async def log_in(self, code: str, request: Request) -> dict[str, Any]:
        """Exchange the code of a link for a cookie; each code works once.

        Args:
            code: of the link.
            request: that brings it.

        Returns:
            The arguments of ``Response.set_cookie``.

        Raises:
            Refusal: the code is unknown, used or too old; 429 if its source sent too many wrong ones.
        """
        key = f"{_LINK}{_digest(code)}"
        # A deletion tells one of several processes alone that there was something.
        if not await self._storage.delete(key):
            self._failures.check(f"link {source_of(request, self._proxies)}")
            raise Refusal(
                401, "unauthorized", "this link was used or is too old; make another with: oneclaw serve link"
            )
        value = secrets.token_urlsafe(32)
        stored = {"created_at": datetime.now(UTC).isoformat()}
        await self._storage.set(f"{_LOGIN}{_digest(value)}", stored, ttl_seconds=LOGIN_SECONDS)
        return {**self._cookie_options(), "value": value, "max_age": LOGIN_SECONDS}

    async def log_out(self, caller: Caller) -> dict[str, Any]:
        """End a login; return the arguments of ``Response.set_cookie`` that remove the cookie."""
        if caller.is_person:
            await self._storage.delete(f"{_LOGIN}{caller.key}")
        return {**self._cookie_options(), "value": "", "max_age": 0}

    async def is_valid(self, caller: Caller) -> bool:
        """Return True if the credentials of a client were not revoked since; for streams that stay open."""
        if caller.is_person:
            return await self._storage.get(f"{_LOGIN}{caller.key}") is not None
        return any(_key_of(each) == caller.key for each in await self.tokens.list())

    def _cookie_options(self) -> dict[str, Any]:
        return {"key": self._cookie, "httponly": True, "samesite": "strict", "path": "/", "secure": self._is_secure}


def source_of(request: Request, proxies: Collection[str]) -> str:
    """Return where a request comes from: an IPv4 address, or the network of an IPv6 one, which one client can fill.

    Args:
        request: from anywhere.
        proxies: whose word counts. The last address that they add to ``X-Forwarded-For`` is of the client; what stands
            before it was written by the client.
    """
    address = request.client.host if request.client is not None else ""
    if address in proxies:
        hops = [each.strip() for each in ",".join(request.headers.getlist("x-forwarded-for")).split(",")]
        address = next((each for each in reversed(hops) if each and each not in proxies), address)
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _key_of(token: ServerToken) -> str:
    """Return a key that a later token of the same name does not have."""
    return f"token {token.name} {token.created_at.isoformat()}"


def form_token(caller: Caller) -> str:
    """Return what the forms of a login carry, so that no other page can write one."""
    return _digest(f"form {caller.key}")


async def _has_form_token(request: Request, digest: str) -> bool:
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
    return secrets.compare_digest(fields.get(FORM_TOKEN, "").encode(), _digest(f"form {digest}").encode())


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_same_origin(request: Request, kind: str = "application/json") -> None:
    """Refuse a request with a cookie that our own page did not send.

    ``SameSite`` lets requests from other ports of this machine pass with the cookie. They say where they come from.

    Args:
        request: with a cookie.
        kind: the media type that its body must have if it changes something.

    Raises:
        Refusal: the page of another origin sent it, or its body is something else.
    """
    site = request.headers.get("sec-fetch-site")
    # ``none``: typed by the user, which is harmless where nothing is changed.
    is_ours = site in ((None, "same-origin") if request.method in _UNSAFE else (None, "same-origin", "none"))
    if not is_ours or (request.method in _UNSAFE and site is None and "origin" not in request.headers):
        raise Refusal(403, "forbidden", "requests of other sites are refused")
    if request.method in _UNSAFE and _media_type(request) != kind:
        raise Refusal(415, "unsupported_media_type", f"send {kind}")


async def new_link_code(storage: PluginStorage) -> str:
    """Make the code of a link that logs one browser in, once, within two minutes."""
    code = secrets.token_urlsafe(32)
    await storage.set(f"{_LINK}{_digest(code)}", True, ttl_seconds=LINK_SECONDS)
    return code


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
