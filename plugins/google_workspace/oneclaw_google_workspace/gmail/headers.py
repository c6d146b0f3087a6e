"""The headers of mails, made readable, and their addresses; pure, without any I/O.

Addresses to write to are read strictly, those in mails that came forgivingly.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import getaddresses
from html import unescape
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.gmail.hidden_text import visible_text
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What stands in a header must not end it: line ends of all kinds, and what cannot be sent at all.
FORBIDDEN = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
# A name that came with a mail is not to look like another address.
_NOT_IN_NAMES = re.compile(f'{FORBIDDEN.pattern}|[<>"\\\\]')
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)")
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>]+)>")
_ANYWHERE = re.compile(r"[^\s<>,;:\"()]+@[^\s<>,;:\"()]+")
_MAX_ADDRESS_CHARACTERS = 254
_MAX_HEADER_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class MailAddress:
    """An address that mail can be sent to, with a name or without."""

    email: str
    name: str = ""

    @property
    def key(self) -> str:
        """The common form of all spellings of an address."""
        return self.email.casefold()

    def __str__(self) -> str:
        if not self.name:
            return self.email
        # A name with an address in it must not look like the address.
        name = f'"{self.name}"' if re.search(r"[@,;:()]", self.name) else self.name
        return f"{name} <{self.email}>"


def mail_address(argument: str, text: str) -> MailAddress:
    """Read an address that somebody wants to write to.

    Args:
        argument: the name of the argument, for messages.
        text: ``bo@example.com`` or ``Bo Berg <bo@example.com>``.

    Raises:
        GoogleError: it is not just one address.
    """
    shown = f"{text[:100]!r}"
    if FORBIDDEN.search(text):
        raise invalid(f"{argument}: {shown} has a line end or another control character in it.")
    match = _NAMED.fullmatch(text.strip())
    email = (match["email"] if match else text).strip()
    name = match["name"].strip().removeprefix('"').removesuffix('"').strip() if match else ""
    normal = _normal(email)
    if normal is None:
        raise invalid(
            f"{argument}: {shown} is no mail address such as bo@example.com or Bo Berg <bo@example.com>, one in each "
            "entry."
        )
    return MailAddress(normal, " ".join(_NOT_IN_NAMES.sub("", name).split()))


def mail_addresses(argument: str, texts: Iterable[str] | None) -> list[MailAddress]:
    """Read addresses: see :func:`mail_address`; each comes once."""
    return unique(mail_address(argument, text) for text in texts or ())


def unique(addresses: Iterable[MailAddress], *, without: Iterable[str] = ()) -> list[MailAddress]:
    """Leave out addresses that came before.

    Args:
        addresses: in order.
        without: keys of others to leave out.
    """
    seen = set(without)
    return [each for each in addresses if each.key not in seen and not seen.add(each.key)]  # type: ignore[func-returns-value]


def addresses_in(value: str) -> list[MailAddress]:
    """Find the addresses in a header of a mail that came; what is none is left out.

    Args:
        value: of From, To, Cc or Reply-To, as it was sent.
    """
    text = value[:_MAX_HEADER_CHARACTERS]
    pairs = [(name, email) for name, email in getaddresses([text]) if email]
    # Newer Pythons give nothing at all for a header in which anything is out of order.
    found = pairs or [("", email) for email in _ANYWHERE.findall(text)]
    return unique(
        MailAddress(normal, _NOT_IN_NAMES.sub("", readable(name)).strip())
        for name, email in found
        if (normal := _normal(email.strip())) is not None
    )


def shown_addresses(value: str) -> str:
    """Write down a header with addresses so that a name cannot pass for an address; as it was sent if it has none."""
    found = addresses_in(value)
    return ", ".join(map(str, found)) if found else readable(value)


def everybody_in(value: str) -> str:
    """Name everyone a mail with this header goes to, for a question: no one may be left out.

    Args:
        value: of To, Cc or Bcc, as it was sent.
    """
    found = [each.email for each in addresses_in(value)]
    text = readable(value)
    # What is no address by the rules above, such as one with an umlaut before its @, may be one for Gmail.
    return ", ".join(found) if text.count("@") <= len(found) else text


def _normal(email: str) -> str | None:
    """An address with its host in ASCII; ``None`` if it is none."""
    local, at, host = email.rpartition("@")
    if not at or len(email) > _MAX_ADDRESS_CHARACTERS:
        return None
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    normal = f"{local}@{host}"
    return normal if _ADDRESS.fullmatch(normal) else None


_MAX_CHARACTERS = 10_000
# Control characters, and those that turn the direction of what follows, to make an address look like another one.
_MISLEADING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What newsletters fill up the preview with.
_FILLING = re.compile("(?:[\u00ad\u034f\u200b-\u200f\u2007\u2060\ufeff]\\s*){2,}")


def header(part: Mapping[str, Any], name: str) -> str:
    """The first header of a name, as it was sent; empty if there is none.

    Args:
        part: a part of a message as Google answers it, or its ``payload``.
        name: in any case.
    """
    for each in part.get("headers", []):
        if str(each.get("name", "")).casefold() == name.casefold():
            return str(each.get("value", ""))
    return ""


def readable(value: str) -> str:
    """A header's value on one line, with encoded words (RFC 2047) decoded, and nothing in it that misleads."""
    text = value[:_MAX_CHARACTERS]
    with suppress(HeaderParseError, LookupError, ValueError):  # then it is shown as it was sent
        text = str(make_header(decode_header(text)))
    return " ".join(visible_text(_MISLEADING.sub("", text)).split())


def preview(snippet: str) -> str:
    """Google's beginning of a message's text, without HTML entities and filling."""
    return " ".join(without_filling(visible_text(_MISLEADING.sub("", unescape(snippet)))).split())


def without_filling(text: str) -> str:
    """A text without runs of characters that no one sees."""
    return _FILLING.sub(" ", text)


def moment(internal_date: object) -> str | None:
    """When Gmail got a message: ISO 8601 in this machine's zone, with the offset.

    Args:
        internal_date: milliseconds since 1970, as Google answers them.
    """
    try:
        return local_time(int(str(internal_date)) / 1000)
    except (ValueError, OverflowError, OSError):
        return None


def local_time(seconds: float) -> str:
    """A moment in ISO 8601 in this machine's zone, with the offset.

    Args:
        seconds: since 1970.

    Raises:
        ValueError: no calendar reaches that far; the same ``OverflowError`` and ``OSError``.
    """
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")
