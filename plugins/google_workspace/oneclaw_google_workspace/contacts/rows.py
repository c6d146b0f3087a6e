"""Contacts as a model reads them; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
