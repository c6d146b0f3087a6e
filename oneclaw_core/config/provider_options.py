"""Options of a provider beside its address: headers, timeout, reasoning.

The values of headers may be secrets. They lie in the secret store, with the scheme, host and port that they were set
for, and the settings hold their names alone.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from oneclaw_core.errors import SettingsError
from oneclaw_core.providers.base import KEY_HEADERS, ProviderConfig
from oneclaw_core.secrets.redaction import REDACTED
from oneclaw_core.types.agents import REASONING_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


HEADERS = "headers"
NONE = "none"
_PORTS = {"http": 80, "https": 443}
MOST_HEADERS = 30
MAX_HEADER_CHARACTERS = 8_192
MAX_TIMEOUT_SECONDS = 86_400
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# What frames a message, or says how it is to be read: with another value it would be another message.
_OWN_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
# Their values say who asks; taken out of everything that is shown, they would be missed.
_PUBLIC_HEADERS = frozenset({"http-referer", "referer", "user-agent", "x-title"})


def check_header(name: str, value: str) -> str:
    """Check a header that a user gave; the value is never repeated.

    Returns:
        The value, without spaces around it.
    """
    if not _TOKEN.fullmatch(name):
        # It is not repeated: written like "Authorization: Bearer KEY", it would hold the secret.
        raise SettingsError(
            "that is not a header: write NAME=VALUE, such as X-Team=blue, with letters, digits and '-' in NAME"
        )
    if name.lower() in _OWN_HEADERS or name.lower().startswith("proxy-"):
        raise SettingsError(f"the header {name} cannot be set: OneClaw writes it for each request")
    value = value.strip(" ")
    if not value or len(value) > MAX_HEADER_CHARACTERS or not value.isascii() or not value.isprintable():
        raise SettingsError(
            f"the value of the header {name} is one line of 1 to {MAX_HEADER_CHARACTERS:,} visible ASCII characters"
        )
    return value


def check_headers(headers: Mapping[str, str], *, has_key: bool, provider: str) -> dict[str, str]:
    """Check the headers of a provider.

    Returns:
        The headers as they are stored.

    Raises:
        SettingsError: one cannot be sent, two have the same name, or there are too many.
    """
    checked = {name: check_header(name, value) for name, value in headers.items()}
    if len({name.lower() for name in checked}) < len(checked):
        raise SettingsError("a header can be given once, whatever the case of its name")
    if len(checked) > MOST_HEADERS:
        raise SettingsError(f"a provider has at most {MOST_HEADERS} headers")
    clash = next((name for name in checked if name.lower() in KEY_HEADERS), None)
    if has_key and clash is not None:
        raise SettingsError(
            f"the header {clash} cannot be set, for {provider} has a key, which is sent in such a header: change the "
            f"key with: oneclaw keys set {provider}, or remove it first"
        )
    return checked


def _timeout(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        seconds = math.nan
    if not 1 <= seconds <= MAX_TIMEOUT_SECONDS:
        raise SettingsError(f"a timeout is 1 to {MAX_TIMEOUT_SECONDS:,} seconds, or none, not {str(value)[:100]!a}")
    return seconds


def _reasoning(value: object) -> str:
    if value not in REASONING_LEVELS:
        raise SettingsError(f"reasoning is one of {', '.join(REASONING_LEVELS)}, or none, not {str(value)[:100]!a}")
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and _TOKEN.fullmatch(each) for each in value):
        raise SettingsError("the names of headers are a list")
    return tuple(value)


# By the name in the stored settings: the field of the configuration, and the check.
_OPTIONS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "timeout_seconds": ("read_timeout_seconds", _timeout),
    "reasoning": ("reasoning", _reasoning),
    HEADERS: ("header_names", _names),
}
OPTIONS = frozenset(_OPTIONS)


def check_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Check options that a user gave; ``none`` takes one away.

    Returns:
        The values in the form in which they are stored, ``None`` for those that are taken away.

    Raises:
        SettingsError: a value is out of range.
    """
    return {name: None if value in (None, NONE) else _OPTIONS[name][1](value) for name, value in options.items()}


def with_options(config: ProviderConfig, stored: Mapping[str, Any]) -> ProviderConfig:
    """Give a provider what is stored for it.

    Raises:
        SettingsError: a stored value is invalid.
    """
    try:
        found = {field: check(stored[name]) for name, (field, check) in _OPTIONS.items() if name in stored}
    except SettingsError as error:
        raise SettingsError(
            f"what is stored for the provider {config.name!r} is invalid: {error}; set it again with: "
            f"oneclaw providers set {config.name}"
        ) from None
    return replace(config, **found)


def http_parts(url: str) -> SplitResult | None:
    """Take the URL of an HTTP server apart; ``None`` if it is none."""
    try:
        parts = urlsplit(url)
        return parts if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def shown_url(url: str) -> str:
    """A base URL as it can be shown: without user and password, and with the names alone of what its query says.

    Args:
        url: as it was written, and perhaps of no use.
    """
    if not any(mark in url for mark in "@?#"):
        return url
    parts = http_parts(url)
    if parts is None:
        return REDACTED
    names = [name for name, is_named, _ in (each.partition("=") for each in parts.query.split("&")) if is_named]
    query = "&".join(f"{name}={REDACTED}" for name in names) or (REDACTED if parts.query else "")
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment=""))


def place_of(config: ProviderConfig) -> str:
    """Return what the key and the headers of a provider belong to: scheme, host and port, or the type's own place."""
    return place_at(config.base_url, config.type)


def place_at(base_url: str | None, type_name: str) -> str:
    """Return the same for a provider that is about to be configured."""
    parts = http_parts(base_url or "")
    if parts is None:
        return type_name
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def is_same_place(stored: str, place: str) -> bool:
    """Return True if a stored place is where a provider is; one of an earlier version has no port."""
    return stored in (place, place.rpartition(":")[0])


def written_headers(headers: Mapping[str, str], place: str) -> str:
    """Write headers as one secret."""
    return json.dumps({"place": place, "headers": dict(headers)})


def read_headers(text: str) -> tuple[dict[str, str], str]:
    """Read what :func:`written_headers` wrote: the headers, and the place they belong to.

    Raises:
        ValueError: it is something else.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("headers"), dict):
        raise ValueError("no headers")
    return {str(name): str(value) for name, value in document["headers"].items()}, str(document.get("place"))


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """List what must not be shown of headers: the values, and what stands behind a word such as ``Bearer``."""
    hidden = (value for name, value in headers.items() if name.lower() not in _PUBLIC_HEADERS)
    return [text for value in hidden for text in (value, value.rpartition(" ")[2])]
