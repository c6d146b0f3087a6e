"""From the arguments of a tool to the fields of a contact, and what an update makes of them; pure, without any I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import listing, passage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Of each field, what Google takes back; the rest it makes itself.
WRITABLE = {
    "names": (
        *("givenName", "familyName", "middleName", "honorificPrefix", "honorificSuffix"),
        *("phoneticGivenName", "phoneticFamilyName", "phoneticMiddleName"),
    ),
    "nicknames": ("value",),
    "emailAddresses": ("value", "type", "displayName"),
    "phoneNumbers": ("value", "type"),
    "organizations": (
        *("name", "title", "department", "type", "current", "location", "domain", "symbol", "jobDescription"),
        *("startDate", "endDate"),
    ),
    "addresses": (
        *("streetAddress", "extendedAddress", "poBox", "city", "region", "postalCode", "country", "countryCode"),
        "type",
    ),
    "birthdays": ("date", "text"),
    "biographies": ("value", "contentType"),
    "urls": ("value", "type"),
}
_LISTS = {"emails": "emailAddresses", "phones": "phoneNumbers", "addresses": "addresses", "urls": "urls"}
_ADDRESS_KEYS = {
    "street": "streetAddress",
    "city": "city",
    "region": "region",
    "postal_code": "postalCode",
    "country": "country",
    "type": "type",
}
_SHOWN, _SHOWN_CHARACTERS = 5, 100
_BIRTHDAY = re.compile(r"(\d{4}|-)-(\d{2})-(\d{2})")


@dataclass(frozen=True, slots=True)
class ContactChange:
    """The arguments of a tool; ``None`` if absent, an empty text to clear a field."""

    given_name: str | None = None
    family_name: str | None = None
    nickname: str | None = None
    emails: Sequence[Mapping[str, str]] | None = None
    phones: Sequence[Mapping[str, str]] | None = None
    organization: str | None = None
    job_title: str | None = None
    department: str | None = None
    addresses: Sequence[Mapping[str, str]] | None = None
    birthday: str | None = None
    notes: str | None = None
    urls: Sequence[Mapping[str, str]] | None = None

    def changed_fields(self, person: Mapping[str, Any], *, is_replacing: bool = False) -> dict[str, list[Any]]:
        """Return the given fields of a contact.

        Args:
            person: as it is now; empty for a new contact.
            is_replacing: whether lists take the place of what is there, or are added.

        Raises:
            GoogleError: the birthday is none.
        """
        changed: dict[str, list[Any]] = {}
        singles: dict[str, dict[str, Any]] = {
            "names": {"givenName": self.given_name, "familyName": self.family_name},
            "organizations": {"name": self.organization, "title": self.job_title, "department": self.department},
            "nicknames": {"value": self.nickname},
            "biographies": {"value": self.notes},
        }
        for field, values in singles.items():
            if any(value is not None for value in values.values()):
                changed[field] = _with_first(_writable(person, field), values)
        if self.notes:
            changed["biographies"][0]["contentType"] = "TEXT_PLAIN"
        if self.birthday is not None:
            changed["birthdays"] = [{"date": birthday_date(self.birthday)}] if self.birthday else []
        for name, field in _LISTS.items():
            given = getattr(self, name)
            if given is not None and (given or is_replacing):
                wanted = [_entry(name, each) for each in given]
                changed[field] = wanted if is_replacing else _merged(field, _writable(person, field), wanted)
        return changed

    def described(self, *, is_replacing: bool = False) -> list[str]:
        """Say in a question what the fields become; only those that something is given for.

        Args:
            is_replacing: whether lists take the place of what is there, or are added.
        """
        words = []
        for name in self.__slots__:
            value = getattr(self, name)
            if name in _LISTS and value is not None and (value or is_replacing):
                shown = listing((_entry_text(each) for each in value), _SHOWN)
                words.append(f"{name}{' only' if is_replacing else ''} {shown}" if value else f"no {name}")
            elif name not in _LISTS and value is not None:
                words.append(f"{name} {_value_text(name, value)}" if value else f"no {name}")
        return words


def birthday_date(text: str) -> dict[str, int]:
    """Read YYYY-MM-DD, or --MM-DD for a birthday without its year.

    Raises:
        GoogleError: it is neither.
    """
    match = _BIRTHDAY.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        year, month, day = match.groups()
        # A leap year, so that the 29th of February without a year is one.
        date(2000 if year == "-" else int(year), int(month), int(day))
    except ValueError:
        raise invalid(f"birthday must be YYYY-MM-DD, or --MM-DD without the year, not {text[:40]!r}.") from None
    known = {} if year == "-" else {"year": int(year)}
    return {**known, "month": int(month), "day": int(day)}


def _entry(name: str, given: Mapping[str, str]) -> dict[str, str]:
    if name == "addresses":
        return compact({_ADDRESS_KEYS[key]: value for key, value in given.items()})
    return compact({"value": given["value"].strip(), "type": given.get("type")})


def _value_text(name: str, value: str) -> str:
    return passage(value) if name == "notes" else passage(value, _SHOWN_CHARACTERS)


def _entry_text(given: Mapping[str, str]) -> str:
    text = ", ".join(given[key] for key in ("value", *_ADDRESS_KEYS) if key != "type" and given.get(key))
    return f"{text} ({given['type']})" if given.get("type") else text


def _writable(person: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    return [{key: each[key] for key in WRITABLE[field] if key in each} for each in person.get(field, [])]


def _with_first(entries: list[dict[str, Any]], values: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Change the first entry, or make it; an entry of which nothing is left goes."""
    first = {**(entries[0] if entries else {}), **{key: value for key, value in values.items() if value is not None}}
    kept = {key: value for key, value in first.items() if value != ""}
    is_empty = not set(kept) - {"type", "contentType", "current"}
    return ([] if is_empty else [kept]) + entries[1:]


def _merged(field: str, entries: list[dict[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add entries; one that is there already gets the new type."""
    key = _keys()[field]
    merged = {key(each): each for each in entries}
    for each in wanted:
        merged[key(each)] = {**merged.get(key(each), {}), **each}
    return list(merged.values())


def _keys() -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Return the key by which two entries of a field are equal."""
    return {
        "emailAddresses": lambda each: str(each.get("value", "")).casefold(),
        "phoneNumbers": lambda each: re.sub(r"[^\d+]", "", str(each.get("value", ""))),
        "urls": lambda each: str(each.get("value", "")).rstrip("/"),
        "addresses": lambda each: "|".join(
            str(each.get(key, "")).casefold() for key in ("streetAddress", "postalCode", "city", "country")
        ),
    }
