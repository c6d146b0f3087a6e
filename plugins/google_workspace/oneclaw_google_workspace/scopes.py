"""The scopes of each service that a user consents to, and which of them a tool needs.

Scopes are written without ``https://www.googleapis.com/auth/`` in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SCOPE_PREFIX = "https://www.googleapis.com/auth/"

Access = Literal["read", "write"]
"""The access levels of tools to a service; writing includes reading."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service to sign in for; its tool group is ``google_`` and its name.

    Attributes:
        title: for people.
        read: scopes for what only reads.
        full: scopes for all of its tools.
        more: scopes that only ``google_call`` can use, for the user to add on purpose.
        is_usual: True if a new account is signed in for it unless the user says otherwise. Google refuses to ask for
            the scopes of the others where the OAuth client or the account may not have them.
    """

    title: str
    read: tuple[str, ...]
    full: tuple[str, ...]
    more: tuple[str, ...] = ()
    is_usual: bool = True


SERVICES = {
    "gmail": Service("Gmail", ("gmail.readonly",), ("gmail.modify",), ("https://mail.google.com/",)),
    "gmail_settings": Service(
        "Gmail settings", ("gmail.labels", "gmail.settings.basic"), ("gmail.labels", "gmail.settings.basic")
    ),
    "drive": Service("Drive", ("drive.readonly",), ("drive",), ("drive.apps.readonly",)),
    "calendar": Service(
        "Calendar",
        ("calendar.calendarlist.readonly", "calendar.events.freebusy", "calendar.events.readonly"),
        ("calendar.calendarlist.readonly", "calendar.events.freebusy", "calendar.events", "calendar.calendars"),
        ("calendar",),
    ),
    "contacts": Service("Contacts", ("contacts.readonly",), ("contacts",)),
    "docs": Service("Docs", ("documents.readonly",), ("documents", "drive.file")),
    "sheets": Service("Sheets", ("spreadsheets.readonly",), ("spreadsheets", "drive.file")),
    "slides": Service("Slides", ("presentations.readonly",), ("presentations", "drive.file")),
    "forms": Service(
        "Forms",
        ("forms.body.readonly", "forms.responses.readonly"),
        ("forms.body", "forms.responses.readonly", "drive.file"),
    ),
    "tasks": Service("Tasks", ("tasks.readonly",), ("tasks",)),
    "chat": Service(
        "Chat",
        ("chat.spaces.readonly", "chat.messages.readonly", "chat.memberships.readonly"),
        ("chat.spaces", "chat.messages", "chat.memberships"),
        (
            "chat.customemojis",
            "chat.delete",
            "chat.import",
            "chat.users.availability",
            "chat.users.readstate",
            "chat.users.sections",
            "chat.users.spacesettings",
        ),
        is_usual=False,
    ),
    "meet": Service(
        "Meet",
        ("meetings.space.readonly",),
        ("meetings.space.readonly", "meetings.space.created"),
        ("meetings.space.settings",),
        is_usual=False,
    ),
    "keep": Service("Keep", ("keep.readonly",), ("keep",), is_usual=False),
}

USUAL_SERVICES = tuple(name for name, service in SERVICES.items() if service.is_usual)

# What some tools can use beyond what their service asks for, and the user adds on purpose.
EXTRA_SCOPES = ("contacts.other.readonly", "directory.readonly", "gmail.settings.sharing")

SCOPE_CHOICES = (*EXTRA_SCOPES, *(scope for service in SERVICES.values() for scope in service.more))
"""All that a user can add to what the services ask for."""

TOOL_SCOPES: dict[str, tuple[str, ...]] = {
    "gmail_search": ("gmail.readonly",),
    "gmail_read": ("gmail.readonly",),
    "gmail_send": ("gmail.send",),
    "gmail_draft_create": ("gmail.compose",),
    "gmail_draft_send": ("gmail.compose",),
    "gmail_label_add": ("gmail.modify",),
    "gmail_label_remove": ("gmail.modify",),
    "gmail_archive": ("gmail.modify",),
    "gmail_trash": ("gmail.modify",),
    "gmail_settings_get": ("gmail.labels", "gmail.settings.basic"),
    "gmail_filter_manage": ("gmail.labels", "gmail.settings.basic"),
    "gmail_label_manage": ("gmail.labels",),
    "gmail_settings_update": ("gmail.settings.basic",),
    "drive_list_files": ("drive.metadata.readonly",),
    "drive_search_files": ("drive.metadata.readonly",),
    "drive_get_file": ("drive.metadata.readonly",),
    "drive_upload_file": ("drive.file",),
    "drive_download_file": ("drive.readonly",),
    "drive_create_folder": ("drive.file",),
    "drive_share_file": ("drive",),
    "drive_manage_file": ("drive",),
    "calendar_list_events": ("calendar.events.readonly",),
    "calendar_get_event": ("calendar.events.readonly",),
    "calendar_create_event": ("calendar.events",),
    "calendar_update_event": ("calendar.events",),
    "calendar_delete_event": ("calendar.events",),
    "calendar_list_calendars": ("calendar.calendarlist.readonly",),
    "calendar_find_free_time": ("calendar.events.freebusy",),
    "calendar_manage_calendar": ("calendar.calendars", "calendar.calendarlist.readonly"),
    "contacts_search": ("contacts.readonly",),
    "contacts_list": ("contacts.readonly",),
    "contacts_create": ("contacts",),
    "contacts_update": ("contacts",),
    "contacts_delete": ("contacts",),
    "contacts_label_manage": ("contacts",),
    "docs_create": ("drive.file",),
    "docs_read": ("documents.readonly",),
    "docs_insert_text": ("documents",),
    "docs_replace_text": ("documents",),
    "docs_insert_element": ("documents",),
    "docs_format": ("documents",),
    "docs_manage_tab": ("documents",),
    "docs_set_header_footer": ("documents",),
    "docs_comment": ("documents",),
    "sheets_create": ("drive.file",),
    "sheets_get_info": ("spreadsheets.readonly",),
    "sheets_read_values": ("spreadsheets.readonly",),
    "sheets_update_values": ("spreadsheets",),
    "sheets_append_rows": ("spreadsheets",),
    "sheets_clear_values": ("spreadsheets",),
    "sheets_manage_structure": ("spreadsheets",),
    "sheets_format_cells": ("spreadsheets",),
    "sheets_comment": ("spreadsheets",),
    "slides_create": ("drive.file",),
    "slides_read": ("presentations.readonly",),
    "slides_add_slide": ("presentations",),
    "slides_update_text": ("presentations",),
    "slides_add_element": ("presentations",),
    "slides_manage_slides": ("presentations",),
    "slides_format": ("presentations",),
    "slides_comment": ("presentations",),
    "forms_create": ("drive.file",),
    "forms_get": ("forms.body.readonly",),
    "forms_add_questions": ("forms.body",),
    "forms_update": ("forms.body",),
    "forms_get_responses": ("forms.body.readonly", "forms.responses.readonly"),
    "tasks_list": ("tasks.readonly",),
    "tasks_create": ("tasks",),
    "tasks_update": ("tasks",),
    "tasks_complete": ("tasks",),
    "tasks_delete": ("tasks",),
}
"""The permissions that each tool always needs; those of single arguments are asked for by the tool."""

_READING = (".readonly", ".freebusy")
# For which Google has no lesser scope.
_READING_WITH_MORE = ("gmail_settings_get",)

# What a scope allows, a broader one allows too.
_BROADER: dict[str, tuple[str, ...]] = {
    "gmail.readonly": ("gmail.modify", "https://mail.google.com/"),
    "gmail.send": ("gmail.compose", "gmail.modify", "https://mail.google.com/"),
    "gmail.compose": ("gmail.modify", "https://mail.google.com/"),
    "gmail.labels": ("gmail.modify", "https://mail.google.com/"),
    "gmail.modify": ("https://mail.google.com/",),
    "drive.metadata.readonly": ("drive.readonly", "drive"),
    "drive.readonly": ("drive",),
    "drive.file": ("drive",),
    "calendar.calendarlist.readonly": ("calendar", "calendar.readonly"),
    "calendar.events.freebusy": ("calendar", "calendar.readonly"),
    "calendar.events.readonly": ("calendar.events", "calendar", "calendar.readonly"),
    "calendar.events": ("calendar",),
    "calendar.calendars": ("calendar",),
    "contacts.readonly": ("contacts",),
    "documents.readonly": ("documents", "drive", "drive.readonly"),
    "documents": ("drive",),
    "spreadsheets.readonly": ("spreadsheets", "drive", "drive.readonly"),
    "spreadsheets": ("drive",),
    "presentations.readonly": ("presentations", "drive", "drive.readonly"),
    "presentations": ("drive",),
    "forms.body.readonly": ("forms.body", "drive", "drive.readonly"),
    "forms.body": ("drive",),
    "forms.responses.readonly": ("drive", "drive.readonly"),
    "tasks.readonly": ("tasks",),
    "chat.spaces.readonly": ("chat.spaces",),
    "chat.messages.readonly": ("chat.messages",),
    "chat.memberships.readonly": ("chat.memberships",),
    "keep.readonly": ("keep",),
}


@dataclass(frozen=True, slots=True)
class Need:
    """The sign-in that a call needs.

    Attributes:
        caller: what is called, for messages.
        service: a key of :data:`SERVICES`.
        scopes: what it cannot do without.
        reads_only: True if it changes nothing.
    """

    caller: str
    service: str
    scopes: tuple[str, ...]
    reads_only: bool = False

    @classmethod
    def of_tool(cls, tool_name: str) -> Need:
        """Return what a tool always needs."""
        scopes = TOOL_SCOPES[tool_name]
        reads_only = tool_name in _READING_WITH_MORE or all(scope.endswith(_READING) for scope in scopes)
        return cls(tool_name, service_of(tool_name), scopes, reads_only)


def service_of(tool_name: str) -> str:
    """Name the service that a tool belongs to."""
    for name in ("gmail_settings", "gmail_filter_manage", "gmail_label_manage"):
        if tool_name.startswith(name):
            return "gmail_settings"
    return tool_name.partition("_")[0]


def missing_scopes(needed: Iterable[str], granted: Collection[str]) -> list[str]:
    """Find what is needed and granted neither by itself nor by something broader."""
    return [
        scope
        for scope in needed
        if scope not in granted and not any(each in granted for each in _BROADER.get(scope, ()))
    ]


def granted_access(service: str, granted: Collection[str]) -> Access | None:
    """Say what scopes allow with a service: any of its changes, only reading, or neither.

    Args:
        service: a key of :data:`SERVICES`.
        granted: scopes.
    """
    if service not in SERVICES:  # of another version
        return None
    read = SERVICES[service].read
    if not SERVICES[service].is_usual and any(
        scope in granted for scope in SERVICES[service].full if scope not in read
    ):
        return "write"
    for tool, scopes in TOOL_SCOPES.items():
        is_writing = read == SERVICES[service].full or missing_scopes(scopes, read)
        if service_of(tool) == service and is_writing and not missing_scopes(scopes, granted):
            return "write"
    return None if missing_scopes(read, granted) else "read"


def consent_scopes(services: Iterable[str], *, read_only: Collection[str] = (), extra: Iterable[str] = ()) -> list[str]:
    """List what to ask a user for, each scope once.

    Args:
        services: keys of :data:`SERVICES`; others are ignored.
        read_only: those for which only reading tools are to work.
        extra: further scopes.
    """
    known = [(name, SERVICES[name]) for name in services if name in SERVICES]
    wanted = [scope for name, service in known for scope in (service.read if name in read_only else service.full)]
    return list(dict.fromkeys([*wanted, *extra]))


def login_options(name: str, missing: Iterable[str]) -> str:
    """Write the options of ``oneclaw google login`` that add what a call misses.

    Args:
        name: of the service that it needs.
        missing: scopes, as :func:`missing_scopes` gives them.
    """
    service = SERVICES[name]
    offers = [(f"--services {name}", service.full)]
    if service.read != service.full:
        offers.insert(0, (f"--services {name} --read-only", service.read))
    rest = list(missing)
    words: list[str] = []
    for options, offered in offers:
        left = missing_scopes(rest, offered)
        if len(left) < len(rest) and (not left or offered is service.full):
            words.append(options)
            rest = left
            break
    extra = [scope for scope in rest if scope in EXTRA_SCOPES or scope in service.more]
    others = _services_with([scope for scope in rest if scope not in extra], besides=name)
    if others:
        # One call of the command signs in for reading, or for writing too.
        needs_writing = any(is_writing for _, is_writing in others) or (words and "--read-only" not in words[0])
        names = ",".join([*([name] if words else []), *(other for other, _ in others)])
        words = [f"--services {names}{'' if needs_writing else ' --read-only'}"]
    return " ".join([*words, *(f"--scope {scope}" for scope in extra)])


def _services_with(scopes: Iterable[str], *, besides: str) -> list[tuple[str, bool]]:
    """Find the other services that bring scopes along, and whether that takes their write access."""
    found: dict[str, bool] = {}
    for scope in scopes:
        for name, service in SERVICES.items():
            if name != besides and not missing_scopes([scope], service.full):
                found[name] = found.get(name, False) or bool(missing_scopes([scope], service.read))
                break
    return list(found.items())


def full_scope(scope: str) -> str:
    """The scope as Google writes it."""
    return scope if scope == "openid" or "://" in scope else SCOPE_PREFIX + scope


def short_scope(scope: str) -> str:
    """The scope as it is written here."""
    return scope.removeprefix(SCOPE_PREFIX)
