"""Mail addresses: strict with those to write to, forgiving with those in mails that came; pure, without any I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import getaddresses
from typing import TYPE_CHECKING

from oneclaw_google_workspace.gmail.headers import readable
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

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
