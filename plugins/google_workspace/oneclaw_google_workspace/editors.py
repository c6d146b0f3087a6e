"""Sending edits to the editors of Docs and Slides, and texts, colours and replacements as these take them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.client import GoogleClient

# What both editors leave out of a text, so that it would take up no index.
_LEFT_OUT = re.compile("[\x00-\x08\x0c-\x1f\ue000-\uf8ff]")
_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units of a text, as the indexes of both editors do: an emoji has two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    """Cut out a part by UTF-16 code units; half a character becomes a question mark in a box."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


def insertable(text: str) -> str:
    """Leave of a text what the editors keep, so that its length is what they count."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _LEFT_OUT.sub("", whole.replace("\r\n", "\n").replace("\r", "\n"))


def rgb(name: str, text: str) -> dict[str, float]:
    """Write a colour as the editors want it.

    Args:
        name: of the argument, for messages.
        text: ``#rrggbb`` or ``#rgb``.

    Returns:
        ``red``, ``green`` and ``blue`` from 0 to 1.

    Raises:
        GoogleError: it is no colour.
    """
    match = _COLOR.fullmatch(text.strip())
    if match is None:
        raise invalid(f"{name} must be a colour such as #1a73e8, not {text[:40]!r}.")
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    parts = zip(("red", "green", "blue"), range(0, 6, 2), strict=True)
    return {part: round(int(digits[at : at + 2], 16) / 255, 4) for part, at in parts}


def image_address(url: str | None) -> str:
    """Check the address of an image that Google is to fetch.

    Raises:
        GoogleError: it is missing, or Google would not fetch it.
    """
    if not url or not re.match(r"https?://", url):
        raise invalid("Give image_url: the public http or https address of a PNG, JPEG or GIF image.")
    if len(url.encode("utf-8", "replace")) > 2048:
        raise invalid("image_url is longer than the 2 kB that Google takes.")
    return url


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Replacements:
    """Pairs of texts, applied in order.

    Attributes:
        requests: the bodies of ``replaceAllText``, one for each.
    """

    requests: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, pairs: Sequence[Mapping[str, Any]]) -> Replacements:
        """Read what a model gave: ``find``, ``replace``, ``match_case`` and ``regex``.

        Raises:
            GoogleError: a pair cannot be applied.
        """
        return cls(tuple(_request(pair) for pair in pairs))

    @property
    def described(self) -> str:
        """The name of the items in a question to the user."""
        shown = [
            f"{_kind(each)}{passage(each['containsText']['text'], 60)} by {passage(each['replaceText'], 150)}"
            for each in self.requests[:_SHOWN]
        ]
        more = len(self.requests) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def counts(self, replies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Say how often each was replaced; Google leaves a 0 out."""
        padded = [*replies, *({} for _ in self.requests)]
        return [
            {
                "find": each["containsText"]["text"],
                "count": int(reply.get("replaceAllText", {}).get("occurrencesChanged", 0)),
            }
            for each, reply in zip(self.requests, padded, strict=False)
        ]


def _kind(request: Mapping[str, Any]) -> str:
    return "the regular expression " if request["containsText"].get("searchByRegex") else ""


def _request(pair: Mapping[str, Any]) -> dict[str, Any]:
    find, is_regex = insertable(pair["find"]), bool(pair.get("regex", False))
    if not find:
        raise invalid("find must not be empty.")
    if "\n" in find and not is_regex:
        raise invalid("find must lie within one paragraph, without newlines.")
    criteria: dict[str, Any] = {"text": find, "matchCase": bool(pair.get("match_case", True))}
    if is_regex:
        criteria["searchByRegex"] = True
    return {"containsText": criteria, "replaceText": insertable(pair["replace"])}


async def send_edits(
    google: GoogleClient,
    method_id: str,
    body: Mapping[str, Any],
    *,
    look_with: str,
    fields: str,
    has_own_ids: bool = False,
    **ids: str,
) -> dict[str, Any]:
    """Send a batch of edits.

    One that holds for a certain revision only, or makes things of ids of our own, is sent again if no one knows whether
    it was carried out: after the first success there is another revision, or a thing of that id, and it is refused.

    Args:
        google: the client; the user has agreed.
        method_id: of a ``batchUpdate``.
        body: with ``requests``, and ``writeControl`` if it holds for a certain revision.
        look_with: the tool that shows the present state, such as ``docs_read``.
        fields: of the answer.
        has_own_ids: whether all of it fails if what it makes is there already.
        ids: parameters of the path.

    Raises:
        GoogleError: nothing was changed; or it may have been, which is told as ``unknown_outcome``.
    """
    has_revision = "requiredRevisionId" in body.get("writeControl", {})
    hint = f"Look with {look_with} whether it was done"
    request = api_request(
        method_id, body=body, fields=fields, is_repeatable=has_revision or has_own_ids, unclear_hint=hint, **ids
    )
    try:
        return await google.send(request)
    except GoogleError as error:
        if error.was_unclear:
            message = f"Google did not confirm the change, so it may have been made or not. {hint} before trying again."
            raise GoogleError("unknown_outcome", message, status=error.status, reasons=error.reasons) from None
        if has_revision and is_outdated(error):
            message = f"It was changed by somebody else meanwhile, so nothing was done. Read it again with {look_with}."
            raise GoogleError("conflict", message, status=error.status, reasons=error.reasons) from None
        raise


def is_outdated(error: GoogleError) -> bool:
    """Return True if edits were refused because they refer to an older revision."""
    return error.status == 400 and "revision" in str(error).lower()


def is_office_file(error: GoogleError) -> bool:
    """Return True if a file was refused because it is none of Google's own kinds, such as one of Word kept in Drive."""
    return error.status == 400 and "not supported for this document" in str(error).lower()
