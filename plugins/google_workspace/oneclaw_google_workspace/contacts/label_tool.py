"""The tool ``contacts_label_manage``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.contacts.reading import Labels, get_people, name_of
from oneclaw_google_workspace.contacts.writing import check_contacts, modify_label
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import counted, listing, quoted

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_LOCK = "contacts"
_GROUP_FIELDS = "resourceName,name"


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
