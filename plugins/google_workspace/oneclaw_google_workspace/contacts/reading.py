"""The tools of the group ``google_contacts`` that read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.contacts.labels import Labels
from oneclaw_google_workspace.contacts.rows import (
    FULL_MASK,
    FULL_PERSON_FIELDS,
    SHORT_MASK,
    SHORT_PERSON_FIELDS,
    full_row,
    short_row,
)
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

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
        raise invalid(f"{wrong[0][:100]!r} is no resource name such as people/c123, from contacts_search.")
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
