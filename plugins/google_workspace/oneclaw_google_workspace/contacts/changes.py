"""Creating, changing and deleting contacts, and ``contacts_label_manage``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, google_tool, listing, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.contacts.people import (
    FULL_MASK,
    FULL_PERSON_FIELDS,
    MY_CONTACTS,
    WRITABLE,
    ContactChange,
    Labels,
    full_row,
    get_people,
    name_of,
)
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_CONTACT = re.compile(r"people/c[\w-]+")
_LOCK = "contacts"
_EDITED_FIELDS = f"{','.join(WRITABLE)},memberships,metadata"
_CHANGED_MEANWHILE = frozenset({"failedPrecondition", "FAILED_PRECONDITION"})
Entries = list[dict[str, str]]
_GROUP_FIELDS = "resourceName,name"


@google_tool
async def contacts_create(
    given_name: str | None = None,
    family_name: str | None = None,
    nickname: str | None = None,
    emails: Entries | None = None,
    phones: Entries | None = None,
    organization: str | None = None,
    job_title: str | None = None,
    department: str | None = None,
    addresses: Entries | None = None,
    birthday: str | None = None,
    notes: str | None = None,
    urls: Entries | None = None,
    groups: list[str] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a contact."""
    google = connect(context)
    if not any((given_name, family_name, organization, emails, phones)):
        raise invalid("A contact needs a given_name, family_name, organization, emails or phones.")
    change = ContactChange(
        given_name,
        family_name,
        nickname,
        emails,
        phones,
        organization,
        job_title,
        department,
        addresses,
        birthday,
        notes,
        urls,
    )
    body: dict[str, Any] = compact(change.changed_fields({}))
    labels = await Labels.of(google)
    if groups:
        # With labels given, a contact is visible only if it is among the user's own, too.
        names = [MY_CONTACTS, *labels.resource_names(groups)]
        body["memberships"] = [
            {"contactGroupMembership": {"contactGroupResourceName": name}} for name in dict.fromkeys(names)
        ]
    called = " ".join(filter(None, (given_name, family_name))) or organization or ""
    first = [each["value"] for each in (*(emails or ()), *(phones or ()))]
    labelled = [f"labels {listing(groups)}"] if groups else []
    more = "; ".join([*labelled, *change.described()])
    await google.ask(f"create the contact {listing([called or first[0]])}: {more}")
    async with google.alone(_LOCK):
        person = await google.call(
            "people.people.createContact",
            body=body,
            personFields=FULL_PERSON_FIELDS,
            fields=FULL_MASK,
            unclear_hint="Look for it with contacts_search",
        )
    return full_row(person, labels.names)


@google_tool
async def contacts_update(
    resource_name: str,
    given_name: str | None = None,
    family_name: str | None = None,
    nickname: str | None = None,
    emails: Entries | None = None,
    phones: Entries | None = None,
    organization: str | None = None,
    job_title: str | None = None,
    department: str | None = None,
    addresses: Entries | None = None,
    birthday: str | None = None,
    notes: str | None = None,
    urls: Entries | None = None,
    list_mode: str = "merge",
    add_groups: list[str] | None = None,
    remove_groups: list[str] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change fields or labels of a contact."""
    google = connect(context)
    check_contacts([resource_name])
    change = ContactChange(
        given_name,
        family_name,
        nickname,
        emails,
        phones,
        organization,
        job_title,
        department,
        addresses,
        birthday,
        notes,
        urls,
    )
    is_replacing = list_mode == "replace"
    person = await _read(google, resource_name)
    fields = change.changed_fields(person, is_replacing=is_replacing)
    labels = await Labels.of(google)
    added, removed = labels.resource_names(add_groups or ()), labels.resource_names(remove_groups or ())
    changed = [*fields, *(["groups"] if added or removed else [])]
    if not changed:
        raise invalid("Give what to change about the contact.")
    words = [f"add labels {listing(map(labels.names.__getitem__, added))}"] if added else []
    words += [f"remove labels {listing(map(labels.names.__getitem__, removed))}"] if removed else []
    words += change.described(is_replacing=is_replacing)
    await google.ask(f"change the contact {listing([name_of(person)])}: {'; '.join(words)}")
    async with google.alone(_LOCK):
        if fields:
            try:
                person = await _write(google, person, fields)
            except GoogleError as error:
                if not error.reasons & _CHANGED_MEANWHILE:
                    raise
                person = await _read(google, resource_name)
                person = await _write(google, person, change.changed_fields(person, is_replacing=is_replacing))
        problems = [
            problem
            for names, is_added in ((added, True), (removed, False))
            for name in names
            if (problem := await _label(google, labels, name, resource_name, is_added=is_added)) is not None
        ]
    if added or removed:
        person = await _read(google, resource_name)
    return {"changed": changed, **full_row(person, labels.names), **compact({"failed": problems})}


@google_tool
async def contacts_delete(resource_names: list[str], *, context: ToolContext) -> dict[str, Any]:
    """Delete contacts."""
    google = connect(context)
    check_contacts(resource_names)
    people, failures = await get_people(
        google, resource_names, "names,emailAddresses", "resourceName,names/displayName,emailAddresses/value"
    )
    if not people:
        raise GoogleError("not_found", f"There is no such contact: {failures[0]['resource_name']}.")
    rows = [{"resource_name": str(person["resourceName"]), "name": name_of(person)} for person in people]
    count = "the contact" if len(rows) == 1 else f"{len(rows)} contacts"
    await google.ask(f"delete {count} {listing(row['name'] for row in rows)}", "delete")
    async with google.alone(_LOCK):
        if len(rows) == 1:
            await google.delete("people.people.deleteContact", resourceName=rows[0]["resource_name"])
        else:
            await google.call(
                "people.people.batchDeleteContacts", body={"resourceNames": [row["resource_name"] for row in rows]}
            )
    return {"deleted": rows, **compact({"failed": failures})}


def check_contacts(resource_names: Sequence[str]) -> None:
    """Refuse what is no contact of the user's own: other contacts, the directory, the user.

    Raises:
        GoogleError: one is none.
    """
    wrong = [name for name in resource_names if not _CONTACT.fullmatch(name)]
    if wrong:
        raise invalid(
            f"{wrong[0][:100]!r} is none of the user's own contacts; theirs are named like people/c123, in "
            "contacts_search and contacts_list."
        )


async def _read(google: GoogleClient, resource_name: str) -> dict[str, Any]:
    """Read a contact with what an update has to send back; of its sources only what the user wrote."""
    return await google.call(
        "people.people.get",
        resourceName=resource_name,
        personFields=_EDITED_FIELDS,
        sources=["READ_SOURCE_TYPE_CONTACT"],
        fields=f"resourceName,etag,metadata/sources(type,id,etag),memberships,{','.join(WRITABLE)}",
    )


async def _write(google: GoogleClient, person: dict[str, Any], fields: dict[str, list[Any]]) -> dict[str, Any]:
    sources = [
        {key: source[key] for key in ("type", "id", "etag") if key in source}
        for source in person.get("metadata", {}).get("sources", [])
        if source.get("type") == "CONTACT"
    ]
    return await google.call(
        "people.people.updateContact",
        resourceName=person["resourceName"],
        body={
            "resourceName": person["resourceName"],
            "etag": person["etag"],
            "metadata": {"sources": sources},
            **fields,
        },
        updatePersonFields=",".join(fields),
        personFields=FULL_PERSON_FIELDS,
        fields=FULL_MASK,
    )


async def _label(
    google: GoogleClient, labels: Labels, group: str, resource_name: str, *, is_added: bool
) -> dict[str, Any] | None:
    """Put a label on a contact or take it off; what stood in the way, if anything did."""
    try:
        problems = await modify_label(google, group, [resource_name], is_added=is_added)
    except GoogleError as error:
        return {"group": labels.names[group], "reason": str(error)}
    return {"group": labels.names[group], "reason": problems[resource_name]} if problems else None


async def modify_label(
    google: GoogleClient, group: str, resource_names: Sequence[str], *, is_added: bool
) -> dict[str, str]:
    """Put a label on contacts or take it off; the user has agreed.

    Args:
        google: the client.
        group: resource name of the label.
        resource_names: of at most a thousand contacts.
        is_added: whether it is put on.

    Returns:
        By resource name, why it was not done for a contact.

    Raises:
        GoogleError: it was done for none.
    """
    answer = await google.call(
        "people.contactGroups.members.modify",
        resourceName=group,
        body={"resourceNamesToAdd" if is_added else "resourceNamesToRemove": list(resource_names)},
        fields="notFoundResourceNames,canNotRemoveLastContactGroupResourceNames",
    )
    problems = dict.fromkeys(answer.get("notFoundResourceNames", []), "The contact is not there any more.")
    last = answer.get("canNotRemoveLastContactGroupResourceNames", [])
    return problems | dict.fromkeys(last, "A contact must keep one label.")


@google_tool
async def contacts_label_manage(
    action: str,
    label: str | None = None,
    name: str | None = None,
    resource_names: list[str] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create, rename or delete a label, or put it on contacts and take it off."""
    google = connect(context)
    contacts = list(dict.fromkeys(resource_names or ()))
    check_contacts(contacts)
    wanted = " ".join(name.split()) if name is not None else ""
    if action in ("create", "rename") and not wanted:
        raise invalid(f"To {action} a label, give name, which is not empty.")
    if action == "create":
        if label:
            raise invalid("To create a label, give its name, and no label.")
        return await _create(google, wanted, contacts)
    if not label:
        raise invalid("Give label, a name from contacts_list with include_groups.")
    if name is not None and action != "rename":
        raise invalid("name goes with create and rename.")
    if action in ("rename", "delete") and contacts:
        raise invalid("resource_names go with create, add and remove.")
    labels = await Labels.of(google)
    (found,) = labels.resource_names([label])
    if action in ("add", "remove"):
        return await _assign(google, labels, found, contacts, is_added=action == "add")
    if found not in labels.own:
        raise invalid(f"{labels.names[found]!r} is one of Google's own labels, which cannot be renamed or deleted.")
    shown = quoted(labels.names[found])
    if action == "delete":
        count = counted(labels.counts[found], "contact")
        await google.ask(f"delete the label {shown} permanently, taking it off {count}, which stay", "delete")
        async with google.alone(_LOCK):
            await google.delete("people.contactGroups.delete", resourceName=found, deleteContacts=False)
        return {"status": "deleted", "resource_name": found, "name": labels.names[found]}
    await google.ask(f"rename the label {shown} to {quoted(wanted)}", "organize")
    async with google.alone(_LOCK):
        group = await google.call("people.contactGroups.get", resourceName=found, groupFields="name", fields="etag")
        after = await google.call(
            "people.contactGroups.update",
            resourceName=found,
            body={
                "contactGroup": {"resourceName": found, "name": wanted, **compact({"etag": group.get("etag")})},
                "updateGroupFields": "name",
                "readGroupFields": "name",
            },
            fields=_GROUP_FIELDS,
        )
    return {"status": "renamed", "resource_name": found, "name": after.get("name", wanted)}


async def _create(google: GoogleClient, name: str, contacts: list[str]) -> dict[str, Any]:
    labels = await Labels.of(google)
    known = labels.find(name)
    if known is not None and contacts:
        return await _assign(google, labels, known, contacts, is_added=True)
    if known is not None:
        return {"status": "exists", "resource_name": known, "name": labels.names[known]}
    people, missing = await _named(google, contacts)
    on = f" and put it on {people}" if people else ""
    await google.ask(f"create the label {quoted(name)}{on}", "organize")
    async with google.alone(_LOCK):
        made = await google.call(
            "people.contactGroups.create",
            body={"contactGroup": {"name": name}, "readGroupFields": "name"},
            fields=_GROUP_FIELDS,
            unclear_hint="Look for it with contacts_list and include_groups",
        )
        answer = {"status": "created", "resource_name": made["resourceName"], "name": made.get("name", name)}
        known_contacts = [each for each in contacts if each not in missing]
        if not known_contacts:
            return {**answer, **_failed(missing, {})}
        try:
            outcome = await modify_label(google, made["resourceName"], known_contacts, is_added=True)
        except GoogleError as error:
            return {**answer, "failed": [{"reason": f"The label is on none of the contacts: {error}"}]}
    lost = set(outcome)
    return {**answer, "contacts": [each for each in known_contacts if each not in lost], **_failed(missing, outcome)}


async def _assign(
    google: GoogleClient, labels: Labels, found: str, contacts: list[str], *, is_added: bool
) -> dict[str, Any]:
    if not contacts:
        raise invalid("Give resource_names, from contacts_search or contacts_list.")
    people, missing = await _named(google, contacts)
    known = [each for each in contacts if each not in missing]
    if not known:
        raise GoogleError("not_found", f"There is no such contact: {contacts[0][:100]}.")
    shown = quoted(labels.names[found])
    await google.ask(
        f"put the label {shown} on {people}" if is_added else f"take the label {shown} off {people}", "organize"
    )
    async with google.alone(_LOCK):
        outcome = await modify_label(google, found, known, is_added=is_added)
    done = [each for each in known if each not in outcome]
    status = "added" if is_added else "removed"
    row = {"status": status, "resource_name": found, "name": labels.names[found], "contacts": done}
    return {**row, **_failed(missing, outcome)}


async def _named(google: GoogleClient, contacts: list[str]) -> tuple[str, set[str]]:
    """Name contacts for a question; and those that there are not."""
    if not contacts:
        return "", set()
    people, failures = await get_people(
        google, contacts, "names,emailAddresses", "resourceName,names/displayName,emailAddresses/value"
    )
    named = listing(name_of(person) for person in people)
    return f"{counted(len(people), 'contact')}: {named}", {str(each["resource_name"]) for each in failures}


def _failed(missing: set[str], problems: dict[str, str]) -> dict[str, Any]:
    rows = [{"resource_name": each, "reason": "There is no such contact."} for each in sorted(missing)]
    rows += [{"resource_name": each, "reason": reason} for each, reason in problems.items()]
    return compact({"failed": rows})
