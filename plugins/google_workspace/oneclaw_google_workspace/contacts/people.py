"""Contacts as a model reads them, their labels and fields, and the tools that read."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool, listing, passage
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

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
MY_CONTACTS = "contactGroups/myContacts"
_PREFIX = "contactGroups/"


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


class Labels:
    """The labels of an account.

    Attributes:
        names: by resource name.
        counts: how many contacts have it, by resource name.
        own: resource names of those that the user made.
    """

    def __init__(
        self, names: dict[str, str], counts: dict[str, int], plain_names: dict[str, str], own: Iterable[str]
    ) -> None:
        self.names = names
        self.counts = counts
        self.own = frozenset(own)
        # What Google calls "friends", people see in their language; both are understood.
        self._plain_names = plain_names

    @classmethod
    async def of(cls, google: GoogleClient) -> Labels:
        """Ask Google for them.

        Raises:
            GoogleError: it did not work out.
        """
        groups, _ = await google.all_items(
            "people.contactGroups.list",
            "contactGroups",
            fields="contactGroups(resourceName,name,formattedName,groupType,memberCount)",
            limit=5_000,
            pageSize=1_000,
            groupFields="name,groupType,memberCount",
        )
        return cls(
            {each["resourceName"]: each.get("formattedName") or each.get("name", "") for each in groups},
            {each["resourceName"]: each.get("memberCount", 0) for each in groups},
            {each["resourceName"]: each.get("name", "") for each in groups},
            (each["resourceName"] for each in groups if each.get("groupType") == "USER_CONTACT_GROUP"),
        )

    def resource_names(self, wanted: Iterable[str]) -> list[str]:
        """Find labels by name or resource name.

        Raises:
            GoogleError: there is none of a name; the message lists those there are.
        """
        return list(dict.fromkeys(self._resource_name(each) for each in wanted))

    def find(self, wanted: str) -> str | None:
        """The resource name of a label by its name, in any case, or its resource name; ``None`` if there is none."""
        if wanted.startswith(_PREFIX) and wanted in self.names:
            return wanted
        for names in (self.names, self._plain_names):
            for resource_name, name in names.items():
                if name.casefold() == wanted.strip().casefold():
                    return resource_name
        return None

    def _resource_name(self, wanted: str) -> str:
        found = self.find(wanted)
        if found is not None:
            return found
        own = [name for resource_name, name in self.names.items() if resource_name != MY_CONTACTS]
        raise invalid(f"There is no label {wanted[:100]!r}. There are: {', '.join(own[:50]) or 'none'}.")


# What Google is to look up, and which parts of that it is to send.
SHORT_PERSON_FIELDS = "names,emailAddresses,phoneNumbers,organizations,memberships"
SHORT_MASK = (
    "resourceName,names/displayName,emailAddresses/value,phoneNumbers/value,organizations(name,title),"
    "memberships/contactGroupMembership/contactGroupResourceName"
)
FULL_PERSON_FIELDS = (
    "names,nicknames,emailAddresses,phoneNumbers,organizations,addresses,birthdays,biographies,urls,memberships"
)
FULL_MASK = (
    "resourceName,names(displayName,givenName,familyName),nicknames/value,emailAddresses(value,type),"
    "phoneNumbers(value,type),organizations(name,title,department),addresses(formattedValue,type),birthdays/date,"
    "biographies/value,urls(value,type),memberships/contactGroupMembership/contactGroupResourceName"
)


def name_of(person: Mapping[str, Any]) -> str:
    """Return the name of a contact, else the first address or number, else the resource name."""
    for field, key in (
        ("names", "displayName"),
        ("organizations", "name"),
        ("emailAddresses", "value"),
        ("phoneNumbers", "value"),
    ):
        for each in person.get(field, []):
            if each.get(key):
                return str(each[key])
    return str(person.get("resourceName", ""))


def short_row(person: Mapping[str, Any], group_names: Mapping[str, str]) -> dict[str, Any]:
    """Make the row of a contact in a list.

    Args:
        person: as Google answers it.
        group_names: of labels, by resource name.
    """
    organization = _first(person, "organizations")
    return compact(
        {
            "resource_name": person.get("resourceName"),
            "name": _first(person, "names").get("displayName"),
            "emails": _values(person, "emailAddresses"),
            "phones": _values(person, "phoneNumbers"),
            "organization": organization.get("name"),
            "title": organization.get("title"),
            "groups": _groups(person, group_names),
        }
    )


def full_row(person: Mapping[str, Any], group_names: Mapping[str, str]) -> dict[str, Any]:
    """Say all about a contact; the arguments are those of :func:`short_row`."""
    names, organization = _first(person, "names"), _first(person, "organizations")
    return compact(
        {
            **short_row(person, group_names),
            "given_name": names.get("givenName"),
            "family_name": names.get("familyName"),
            "nickname": _first(person, "nicknames").get("value"),
            "emails": _typed(person, "emailAddresses"),
            "phones": _typed(person, "phoneNumbers"),
            "department": organization.get("department"),
            "addresses": _typed(person, "addresses", "formattedValue"),
            "birthday": birthday_text(_first(person, "birthdays").get("date", {})),
            "notes": _first(person, "biographies").get("value"),
            "urls": _typed(person, "urls"),
        }
    )


def birthday_text(date: Mapping[str, int]) -> str:
    """Write a birthday as YYYY-MM-DD, or --MM-DD where the year is not known; empty for none."""
    if not date.get("month") or not date.get("day"):
        return ""
    year = f"{date['year']:04d}" if date.get("year") else "-"
    return f"{year}-{date['month']:02d}-{date['day']:02d}"


def _first(person: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found: Sequence[Mapping[str, Any]] = person.get(field, [])
    return found[0] if found else {}


def _values(person: Mapping[str, Any], field: str) -> list[str]:
    return [each["value"] for each in person.get(field, []) if each.get("value")]


def _typed(person: Mapping[str, Any], field: str, key: str = "value") -> list[dict[str, Any]]:
    rows = [compact({"value": each.get(key), "type": each.get("type")}) for each in person.get(field, [])]
    return [row for row in rows if "value" in row]


def _groups(person: Mapping[str, Any], group_names: Mapping[str, str]) -> list[str]:
    names = [
        each.get("contactGroupMembership", {}).get("contactGroupResourceName") for each in person.get("memberships", [])
    ]
    # Every contact is in "myContacts"; that says nothing.
    return [group_names.get(name, name) for name in names if name and name != "contactGroups/myContacts"]


_OTHER_FIELDS = "names,emailAddresses,phoneNumbers"
_OTHER_MASK = "resourceName,names/displayName,emailAddresses/value,phoneNumbers/value"
_DIRECTORY_FIELDS = "names,emailAddresses,phoneNumbers,organizations"
_DIRECTORY_MASK = f"{_OTHER_MASK},organizations(name,title)"
_ORDERS = {
    "first_name": "FIRST_NAME_ASCENDING",
    "last_name": "LAST_NAME_ASCENDING",
    "last_modified": "LAST_MODIFIED_DESCENDING",
}


@google_tool
async def contacts_search(
    query: str,
    source: str = "contacts",
    max_results: int = 10,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find people by the beginning of a word."""
    google = connect(context)
    if not query.strip():
        raise invalid(
            "Give the beginning of a name, mail address, number or company; contacts_list lists all contacts."
        )
    if page_token and source != "directory":
        raise invalid("Only the directory has pages. Raise max_results, or write more of the name.")
    if source == "directory":
        return await _search_directory(google, query, max_results, page_token)
    if source == "other_contacts":
        google.require_scopes("contacts.other.readonly")
        method, fields, mask = "people.otherContacts.search", _OTHER_FIELDS, _OTHER_MASK
    else:
        method, fields, mask = "people.people.searchContacts", SHORT_PERSON_FIELDS, SHORT_MASK
    # Google looks into a cache that an empty query brings up to date.
    await google.call(method, query="", readMask=fields, pageSize=1, fields="results/person/resourceName")
    answer = await google.call(
        method, query=query, readMask=fields, pageSize=max_results, fields=f"results/person({mask})"
    )
    people = [each["person"] for each in answer.get("results", []) if each.get("person")]
    names = (await Labels.of(google)).names if _have_labels(people) else {}
    return from_outside({"people": [short_row(person, names) for person in people]}, "contacts")


@google_tool
async def contacts_list(
    resource_names: list[str] | None = None,
    group: str | None = None,
    sort: str = "first_name",
    include_groups: bool = False,
    max_results: int = 50,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """List contacts, all or of one label, or get given ones in full."""
    google = connect(context)
    if resource_names and (group or page_token):
        raise invalid("resource_names go without group and page_token.")
    labels = await Labels.of(google)
    if resource_names:
        people, failures = await get_people(google, resource_names, FULL_PERSON_FIELDS, FULL_MASK)
        answer: dict[str, Any] = {"contacts": [full_row(person, labels.names) for person in people], "failed": failures}
    elif group:
        answer = await _list_group(google, labels, group, max_results, page_token)
    else:
        page = await google.call(
            "people.people.connections.list",
            resourceName="people/me",
            personFields=SHORT_PERSON_FIELDS,
            sortOrder=_ORDERS[sort],
            pageSize=max_results,
            pageToken=page_token,
            fields=f"connections({SHORT_MASK}),nextPageToken,totalItems",
        )
        answer = {
            "contacts": [short_row(person, labels.names) for person in page.get("connections", [])],
            "total": page.get("totalItems"),
            "next_page_token": page.get("nextPageToken"),
        }
    if include_groups:
        answer["groups"] = [
            {"resource_name": resource_name, "name": name, "count": labels.counts[resource_name]}
            for resource_name, name in labels.names.items()
        ]
    return from_outside({"contacts": answer.pop("contacts"), **compact(answer)}, "contacts")


async def get_people(
    google: GoogleClient, resource_names: list[str], person_fields: str, mask: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Get people by name, any number of them.

    Args:
        google: the client.
        resource_names: of people.
        person_fields: what Google is to look up.
        mask: which parts of that it is to send.

    Returns:
        Those that there are, in order, and for the others ``resource_name`` and ``reason``.

    Raises:
        GoogleError: it did not work out.
    """
    names = list(dict.fromkeys(resource_names))
    wrong = [name for name in names if not name.startswith("people/") or name.count("/") != 1]
    if wrong:
        raise invalid(f"{wrong[0][:100]!r} is not a resource name such as people/c123, from contacts_search.")
    pages = await asyncio.gather(
        *(
            google.call(
                "people.people.getBatchGet",
                resourceNames=names[start : start + 200],
                personFields=person_fields,
                fields=f"responses(requestedResourceName,httpStatusCode,status/message,person({mask}))",
            )
            for start in range(0, len(names), 200)
        )
    )
    people: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for response in (each for page in pages for each in page.get("responses", [])):
        if response.get("person", {}).get("resourceName"):
            people.append(response["person"])
        else:
            reason = response.get("status", {}).get("message") or "There is no such contact."
            failures.append({"resource_name": response.get("requestedResourceName"), "reason": reason})
    return people, failures


async def _search_directory(
    google: GoogleClient, query: str, max_results: int, page_token: str | None
) -> dict[str, Any]:
    google.require_scopes("directory.readonly")
    page = await google.call(
        "people.people.searchDirectoryPeople",
        query=query,
        readMask=_DIRECTORY_FIELDS,
        sources=["DIRECTORY_SOURCE_TYPE_DOMAIN_PROFILE", "DIRECTORY_SOURCE_TYPE_DOMAIN_CONTACT"],
        pageSize=max_results,
        pageToken=page_token,
        fields=f"people({_DIRECTORY_MASK}),nextPageToken",
    )
    rows = [short_row(person, {}) for person in page.get("people", [])]
    return from_outside({"people": rows, **compact({"next_page_token": page.get("nextPageToken")})}, "people")


async def _list_group(
    google: GoogleClient, labels: Labels, group: str, max_results: int, page_token: str | None
) -> dict[str, Any]:
    """List the members of a label; Google gives all their names at once, so the pages are made here."""
    if page_token and not page_token.isdecimal():
        raise invalid("page_token must be the next_page_token of the last answer.")
    start = int(page_token or 0)
    (resource_name,) = labels.resource_names([group])
    total = labels.counts[resource_name]
    found = await google.call(
        "people.contactGroups.get",
        resourceName=resource_name,
        maxMembers=start + max_results,
        groupFields="name,memberCount",
        fields="memberResourceNames,memberCount",
    )
    members = found.get("memberResourceNames", [])[start:]
    people, failures = await get_people(google, members, SHORT_PERSON_FIELDS, SHORT_MASK) if members else ([], [])
    end = start + len(members)
    return {
        "contacts": [short_row(person, labels.names) for person in people],
        "failed": failures,
        "total": found.get("memberCount", total),
        "next_page_token": str(end) if members and end < found.get("memberCount", 0) else None,
    }


def _have_labels(people: list[dict[str, Any]]) -> bool:
    return any(person.get("memberships") for person in people)
