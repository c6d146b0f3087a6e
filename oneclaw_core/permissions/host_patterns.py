"""Hosts that a permission to connect is for, and patterns of them: ``HOST``, ``HOST:PORT`` and ``HOST:PORT@KIND``.

A question shows all three parts, since a name can come to mean another address later: a yes for ``nas.lan:443@private``
opens neither another port nor the metadata service of a cloud under that name. What is left out in a pattern holds for
all.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from oneclaw_core.errors import UsageError

KINDS = ("loopback", "private", "link-local", "other")
_PATTERN = re.compile(
    r"(?P<name>\[[0-9a-f:.%]+\w*\]|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.%\w]*|[\w.*%-]+)(?::(?P<port>\d{1,5}))?"
    rf"(?:@(?P<kind>{'|'.join(KINDS)}))?"
)


class Place(NamedTuple):
    """The parts of a subject or pattern; ``None`` for parts it leaves open."""

    name: str
    port: int | None = None
    kind: str | None = None

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name + (f":{self.port}" if self.port is not None else "") + (f"@{self.kind}" if self.kind else "")


def private_place(host: str, address: str, port: int) -> str:
    """Return the subject of the permission to connect to a private address."""
    from oneclaw_core.http.addresses import private_kind

    name = host.rstrip(".").lower()
    return str(Place(name, port, None if name == address.lower() else private_kind(address)))


def check_host(pattern: str) -> str:
    """Check a pattern that the user wrote, and return its one form.

    Raises:
        UsageError: It is none.
    """
    place = _read(pattern)
    if place is None or "*" in place.name.removeprefix("*.") or not place.name.removeprefix("*."):
        raise UsageError(
            f"{pattern!r} is not a host: write a name or an address, or *.example.com for all below a name, and :PORT "
            "behind it for a single port"
        )
    return str(place)


def exact_host(subject: str) -> str | None:
    """Return the pattern that stands for a subject alone; ``None`` if there is none."""
    try:
        return check_host(subject)
    except UsageError:
        return None


def covers_host(pattern: str, subject: str) -> bool:
    """Return True if what is granted by a pattern holds for a subject."""
    granted, asked = _read(pattern), _read(subject)
    if granted is None or asked is None:
        return False
    if granted.name.startswith("*."):
        is_name = asked.name.endswith(granted.name[1:]) and asked.name != granted.name[2:]
    else:
        is_name = asked.name == granted.name
    return is_name and granted.port in (None, asked.port) and granted.kind in (None, asked.kind)


def covers_web_host(pattern: str, subject: str) -> bool:
    """Return True if what is granted by a pattern holds for a subject, where no port means 80 and 443 alone."""
    granted, asked = _read(pattern), _read(subject)
    return granted is not None and asked is not None and granted.port == asked.port and covers_host(pattern, subject)


def touches_host(pattern: str, subject: str) -> bool:
    """Return True if what is denied by a pattern is found in a subject; a host is denied with all below it."""
    denied, asked = _read(pattern), _read(subject)
    if denied is None or asked is None:
        return denied is asked
    name = denied.name.removeprefix("*.")
    is_name = asked.name == name or asked.name.endswith(f".{name}")
    is_open = None in (denied.port, asked.port) or denied.port == asked.port
    return is_name and is_open and (None in (denied.kind, asked.kind) or denied.kind == asked.kind)


def _read(text: str) -> Place | None:
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 65_536:
        return None
    return Place(found["name"].strip("[]").rstrip("."), port, found["kind"])
