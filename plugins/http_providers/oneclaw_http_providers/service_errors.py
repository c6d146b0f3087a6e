"""Errors of a model service in words that say what to do; a key or password never gets into them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from oneclaw_core.http import FaultKind, connection_fault
from oneclaw_core.providers import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderSilentError,
    ProviderUnavailableError,
    ProviderUnreachableError,
    UnknownModelError,
    UnreadableCallError,
)
from oneclaw_http_providers.error_meaning import (
    TokenCounts,
    is_about_request,
    lacks_credit,
    overflow_in,
    refuses_content,
)
from oneclaw_http_providers.error_objects import error_in_body
from oneclaw_http_providers.retry import AttemptFailed, retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from oneclaw_core.providers import ProviderConfig
    from oneclaw_http_providers.service_url import ServiceUrl

QUOTED_CHARACTERS = 300
_RETRYABLE = frozenset({408, 409, 429})
# Statuses with which services object to what a message says.
_OF_CONTENT = frozenset({400, 403, 406, 422, 451, 500})
_SHORTEST_SECRET = 4
_FULL_CHARACTERS = 4_000
_CODE_KEYS = ("code", "type", "status", "reason")
_OF_FILES = re.compile(r"\b(images?|files?|pdfs?|documents?|attachments?|audio|videos?)\b", re.IGNORECASE)
# What services say of a call that they could not read (Groq and its like).
_UNREADABLE_CALL = frozenset({"tool_use_failed", "malformed_function_call", "tool_call_parse_error"})
# The status that stands for an error that came inside a 200 answer, by its code or type.
_STATUS_OF_CODE = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "billing_error": 402,
    "request_too_large": 413,
    "model_not_found": 404,
}


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """The error message of a service.

    Attributes:
        text: its text, cleaned.
        words: what programs go by.
        retry_after_seconds: when the service asks to be asked again, ``None`` if it does not say here.
        counts: the numbers in the error, by name.
        full_text: the text as it came, for finding out what it means; empty for ``text``.
        unreadable_call: the call that the model wrote and the service cannot read, ``None`` if it speaks of none.
    """

    text: str
    words: frozenset[str]
    retry_after_seconds: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    full_text: str = ""
    unreadable_call: str | None = None

    @property
    def quoted(self) -> str:
        """The text, to be put at the end of a sentence; empty if there is none."""
        return f"; it says: {self.text}" if self.text else ""


@dataclass(frozen=True, slots=True)
class ServiceErrors:
    """Puts into words what goes wrong with one configured model service.

    Attributes:
        config: the service.
        url: where it is.
    """

    config: ProviderConfig
    url: ServiceUrl

    @property
    def _place(self) -> str:
        return f"{self.config.name} at {self.url.origin}"

    @property
    def key_places(self) -> str:
        """The instructions for setting a key, to follow the word "set"."""
        variable = (
            f"in the environment variable {self.config.key_variable} or " if self.config.takes_environment_key else ""
        )
        return f"{variable}with: oneclaw keys set {self.config.name}"

    def missing_key(self) -> ProviderAuthenticationError:
        """The service answers no one without a key, and there is none; it was not asked."""
        return ProviderAuthenticationError(f"{self._place} wants an API key: set the key {self.key_places}")

    def of_status(self, status: int, headers: Mapping[str, str], body: bytes, model: str | None) -> AttemptFailed:
        """Turn an answer with an error status into an error.

        Args:
            status: the HTTP status.
            headers: of the answer.
            body: of the answer, or its beginning.
            model: the model asked for, ``None`` if none was.
        """
        message = self._message(error_in_body(body))
        return self._refusal(status, f" (HTTP {status})", message, retry_after_seconds(headers), model)

    def of_error_object(self, error: object, model: str) -> AttemptFailed:
        """Turn an ``error`` object inside an answer with status 200 into an error."""
        message = self._message(error)
        code = error.get("code") if isinstance(error, dict) else None
        status = next((_STATUS_OF_CODE[word] for word in sorted(message.words) if word in _STATUS_OF_CODE), 500)
        if isinstance(code, int) and 400 <= code < 600:
            status = code
        return self._refusal(status, "", message, None, model)

    def of_transport(self, error: httpx.HTTPError, *, has_begun: bool = False) -> AttemptFailed:
        """Turn a failed connection into an error.

        Args:
            error: of the client library.
            has_begun: whether a part of the answer had come.
        """
        fault = connection_fault(error)
        match fault.kind:
            case FaultKind.REFUSED:
                # Nothing listens on this machine: it will not by itself in the next seconds.
                return AttemptFailed(
                    ProviderUnreachableError(f"cannot reach {self._place}: {fault.text}; {self._start_hint()}"),
                    is_retryable=not self.url.is_loopback,
                )
            case FaultKind.SILENT:
                return self.silent(self.config.read_timeout_seconds)
            case FaultKind.TLS:
                hint = "check the base URL; a company's own certificate goes into the file that SSL_CERT_FILE names"
                return AttemptFailed(ProviderUnreachableError(f"cannot reach {self._place}: {fault.text}; {hint}"))
            case FaultKind.TOO_MANY_FILES:
                hint = (
                    "raise the limit with: ulimit -n NUMBER, or send fewer requests at the same time with: "
                    f"oneclaw config set provider_concurrency {self.config.name}=NUMBER"
                )
                return AttemptFailed(
                    ProviderUnavailableError(f"cannot reach {self._place}: {fault.text}; {hint}"), is_retryable=True
                )
            case FaultKind.BROKEN_OFF if has_begun:
                return self.broken_off()
            case FaultKind.BROKEN_OFF:
                return self.closed_silently()
            case FaultKind.UNREADABLE:
                return self.no_answer(fault.text)
            case _:
                hint = "check the network connection and the base URL"
                return AttemptFailed(
                    ProviderUnreachableError(f"cannot reach {self._place}: {fault.text}; {hint}"), is_retryable=True
                )

    def silent(self, seconds: float) -> AttemptFailed:
        """The service sent nothing for that long."""
        # Asked again, it would be paid for again, and the user would wait as long again.
        return AttemptFailed(
            ProviderSilentError(
                f"{self._place} stayed silent for {seconds:g} seconds; try again, or let it be silent for longer with: "
                f"oneclaw providers set {self.config.name} --timeout SECONDS"
            )
        )

    def broken_off(self) -> AttemptFailed:
        """The service stopped before its answer was complete."""
        return AttemptFailed(
            ProviderUnavailableError(f"{self._place} broke off in the middle of its answer; try again"),
            is_retryable=True,
        )

    def garbled(self) -> AttemptFailed:
        """The parts of the answer do not fit together."""
        return AttemptFailed(
            ProviderUnavailableError(f"{self._place} sent an answer whose parts do not fit together; try again"),
            is_retryable=True,
        )

    def closed_silently(self) -> AttemptFailed:
        """The service closed the connection before anything came."""
        return AttemptFailed(
            ProviderUnreachableError(f"{self._place} closed the connection without an answer; try again"),
            is_retryable=True,
        )

    def unusable_url(self) -> AttemptFailed:
        """The base URL passed the first check, and yet its host cannot be asked for."""
        return AttemptFailed(ProviderRequestError(f"the base URL of {self._place} names no possible host: correct it"))

    def no_answer(self, what: str) -> AttemptFailed:
        """The service answered something that is no answer of its wire format.

        Args:
            what: is wrong with it, in our own words.
        """
        hint = "check that the base URL is that of the API; it often ends in /v1"
        return AttemptFailed(ProviderRequestError(f"{self._place} gave no usable answer: {what}; {hint}"))

    def clean(self, text: str) -> str:
        """Put a server's text on one short line, without control characters and secrets."""
        text = "".join(character if character.isprintable() else " " for character in text[: 100 * QUOTED_CHARACTERS])
        text = " ".join(text.split())
        for secret in self._secrets():
            text = text.replace(secret, "***")
        return text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"

    def _secrets(self) -> list[str]:
        keys = (self.config.api_key or "", *self.config.more_api_keys)
        secrets = {*keys, *map(str.strip, keys), self.url.password}
        secrets.add(unquote(self.url.password))
        # What is shorter stands for "none", as local servers take it, and would tear words apart.
        return sorted((each for each in secrets if len(each) >= _SHORTEST_SECRET), key=len, reverse=True)

    def _message(self, error: object) -> ServerMessage:
        if not isinstance(error, dict):
            return ServerMessage(self.clean(error) if isinstance(error, str) else "", frozenset())
        parts: list[Any] = [error.get("message") or error.get("detail") or error.get("error_description")]
        metadata = error.get("metadata")
        if isinstance(metadata, dict):  # OpenRouter passes on there what the service behind it said
            parts.append(metadata.get("raw"))
        texts = [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts if part]
        # Azure and Google say more inside the error than around it.
        inner = [error, *(error[key] for key in ("innererror", "inner_error", "details") if error.get(key))]
        objects = [each for part in inner for each in (part if isinstance(part, list) else [part])]
        words = frozenset(
            str(each[key])
            for each in objects
            if isinstance(each, dict)
            for key in _CODE_KEYS
            if isinstance(each.get(key), str | int)
        )
        counts = {key: value for key, value in error.items() if isinstance(value, int) and key not in _CODE_KEYS}
        text = " - ".join(texts)
        return ServerMessage(
            self.clean(text),
            words,
            counts=counts,
            full_text=text[:_FULL_CHARACTERS],
            unreadable_call=_unreadable_call(error, words),
        )

    def _refusal(
        self, status: int, shown: str, message: ServerMessage, retry_after: float | None, model: str | None
    ) -> AttemptFailed:
        name, said = self.config.name, message.quoted
        retry_after = message.retry_after_seconds if retry_after is None else retry_after
        if message.unreadable_call is not None:
            unreadable = UnreadableCallError(f"{name} cannot read a tool call that the model wrote{said}")
            unreadable.written = message.unreadable_call
            return AttemptFailed(unreadable)
        if status == 400 and "invalid_api_key" in message.words:
            status = 401
        text, words = message.full_text or message.text, message.words
        if lacks_credit(status, text, words, comes_back=retry_after is not None):
            text = f"the account at {name} has no credit left{shown}: check its plan and billing{said}"
            return AttemptFailed(ProviderQuotaError(text))
        if status in _OF_CONTENT and refuses_content(text, words):
            refused = ProviderRequestError(f"{name} refuses what a message says{shown}{said}")
            refused.is_refusal = refused.refuses_content = True
            return AttemptFailed(refused)
        if status in (401, 403):
            return AttemptFailed(ProviderAuthenticationError(self._authentication_error(status, shown) + said))
        counts = overflow_in(text, words, message.counts, is_rate_limit=status == 429)
        if counts is not None:
            return self._too_long(model, counts, said)
        if status == 429:
            return AttemptFailed(
                ProviderRateLimitError(f"{name} takes no more requests for now{shown}; try again later{said}"),
                is_retryable=True,
                retry_after_seconds=retry_after,
            )
        if status == 413 and _OF_FILES.search(text) is None:
            text = (
                f"the conversation with its files is too large for {name}{shown}: start a new one, or send less{said}"
            )
            return AttemptFailed(ContextTooLongError(text))
        is_its_own = status in _RETRYABLE or status >= 500
        if is_its_own and not (status == 500 and is_about_request(text)):
            return AttemptFailed(
                ProviderUnavailableError(f"{self._place} is overloaded or broken{shown}; try again later{said}"),
                is_retryable=True,
                retry_after_seconds=retry_after,
            )
        kind = UnknownModelError if status == 404 and model is not None else ProviderRequestError
        error = kind(self._request_error(status, shown, model) + said)
        error.is_refusal = kind is ProviderRequestError and status >= 400 and status not in (404, 405)
        return AttemptFailed(error)

    def _too_long(self, model: str | None, counts: TokenCounts, said: str) -> AttemptFailed:
        error = ContextTooLongError(
            f"the conversation is too long for {model}: start a new one, or choose a model that reads more{said}"
        )
        error.allowed_tokens, error.requested_tokens = counts.allowed, counts.requested
        return AttemptFailed(error)

    def _authentication_error(self, status: int, shown: str) -> str:
        if self.config.api_key is None:
            return f"{self._place} wants an API key{shown}: set the key {self.key_places}"
        if status == 401:
            return f"{self._place} refuses the API key{shown}: set a valid one {self.key_places}"
        return f"{self._place} refuses access{shown}: check what the API key of {self.config.name} may do"

    def _request_error(self, status: int, shown: str, model: str | None) -> str:
        if 300 <= status < 400:
            return f"{self._place} redirects elsewhere{shown}: set the base URL to where the API is now"
        if status == 404 and model is not None:
            command = f"oneclaw models list {self.config.name}"
            hint = f"; get it with: ollama pull {model}" if self.config.name == "ollama" else f"; see: {command}"
            return f"{self._place} has no model {model!r}, or the base URL is wrong{shown}{hint}"
        if status in (404, 405):
            return f"{self._place} does not offer this{shown}: check the base URL, which often ends in /v1"
        return f"{self.config.name} refuses the request{shown}"

    def _start_hint(self) -> str:
        if self.config.name == "ollama":
            return "is Ollama running? Start it with: ollama serve"
        return "check that the server is running and the base URL is right"


def _unreadable_call(error: Mapping[str, Any], words: frozenset[str]) -> str | None:
    """Return the call that a service could not read; ``None`` if the error is about something else."""
    written = error.get("failed_generation")
    is_text = isinstance(written, str)
    if words.isdisjoint(_UNREADABLE_CALL) and not (is_text and any("tool" in each for each in words)):
        return None
    return str(written) if is_text else ""
