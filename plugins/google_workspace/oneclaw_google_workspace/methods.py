"""The methods of Google's APIs that the tools use, as Google's Discovery documents describe them, and requests."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from oneclaw_core import SettingsError
from oneclaw_google_workspace.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE_VARIABLE = "ONECLAW_GOOGLE_API_BASE"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PARAMETER = re.compile(r"\{(\+?)(\w+)\}")


@dataclass(frozen=True, slots=True)
class Api:
    """One of Google's APIs.

    Attributes:
        title: as it is called in the Google Cloud console.
        host: where it is, which is also its name there.
        batch_path: where many requests go at once.
        service: the host's name in the Cloud console.
    """

    title: str
    host: str
    batch_path: str = "/batch"
    service: str = ""

    @property
    def switch_on_url(self) -> str:
        """The page where the owner of a Cloud project switches it on."""
        return f"https://console.cloud.google.com/apis/library/{self.service or self.host}"


APIS = {
    "gmail": Api("Gmail API", "gmail.googleapis.com"),
    "drive": Api("Google Drive API", "www.googleapis.com", "/batch/drive/v3", "drive.googleapis.com"),
    "calendar": Api("Google Calendar API", "www.googleapis.com", "/batch/calendar/v3", "calendar-json.googleapis.com"),
    "people": Api("People API", "people.googleapis.com"),
    "docs": Api("Google Docs API", "docs.googleapis.com"),
    "sheets": Api("Google Sheets API", "sheets.googleapis.com"),
    "slides": Api("Google Slides API", "slides.googleapis.com"),
    "forms": Api("Google Forms API", "forms.googleapis.com"),
    "tasks": Api("Google Tasks API", "tasks.googleapis.com"),
    "chat": Api("Google Chat API", "chat.googleapis.com"),
    "meet": Api("Google Meet API", "meet.googleapis.com"),
    "keep": Api("Google Keep API", "keep.googleapis.com"),
}
"""By the first word of the ids of their methods."""


def address(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the address for requests to a Google URL.

    That is the URL itself, unless ``ONECLAW_GOOGLE_API_BASE`` names a stand-in: then everything goes there, with the
    host as the first part of the path.

    Args:
        url: an ``https`` URL.
        environ: the environment.

    Raises:
        SettingsError: the stand-in's address is neither ``https`` nor on this machine: tokens would go unprotected.
    """
    base = environ.get(BASE_VARIABLE)
    if not base:
        return url
    parts = urlsplit(base)
    if not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
        raise SettingsError(f"{BASE_VARIABLE} must be an https URL, or an http URL on this machine")
    return f"{base.rstrip('/')}/{url.removeprefix('https://')}"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an API.

    Attributes:
        id: as Google names it, such as ``tasks.tasks.list``.
        verb: of HTTP.
        path: below the host, with parameters in braces; the value of ``{+name}`` keeps its slashes.
        is_repeatable: True if doing it twice has the effect of doing it once, so that it can be sent again when
            no one knows whether the first request was carried out.
        is_reading: whether it changes nothing.
        takes_all_drives: whether it wants to be told that the caller knows of shared drives.
    """

    id: str
    verb: str
    path: str
    is_repeatable: bool
    is_reading: bool
    takes_all_drives: bool

    @property
    def api(self) -> Api:
        """The API that it belongs to."""
        return APIS[self.id.partition(".")[0]]


# Verb, id, path, and what the verb does not say: "repeatable" of a POST that is, "reading" of one that changes nothing,
# "all_drives" of a method with the parameter supportsAllDrives. The user's own mailbox is the only one that is asked.
_TABLE = """
POST   gmail.users.drafts.create /gmail/v1/users/me/drafts
GET    gmail.users.drafts.get /gmail/v1/users/me/drafts/{id}
GET    gmail.users.drafts.list /gmail/v1/users/me/drafts
POST   gmail.users.drafts.send /gmail/v1/users/me/drafts/send
PUT    gmail.users.drafts.update /gmail/v1/users/me/drafts/{id}
POST   gmail.users.labels.create /gmail/v1/users/me/labels
DELETE gmail.users.labels.delete /gmail/v1/users/me/labels/{id}
GET    gmail.users.labels.list /gmail/v1/users/me/labels
PATCH  gmail.users.labels.patch /gmail/v1/users/me/labels/{id}
GET    gmail.users.messages.attachments.get /gmail/v1/users/me/messages/{messageId}/attachments/{id}
POST   gmail.users.messages.batchModify /gmail/v1/users/me/messages/batchModify repeatable
GET    gmail.users.messages.get /gmail/v1/users/me/messages/{id}
GET    gmail.users.messages.list /gmail/v1/users/me/messages
POST   gmail.users.messages.send /gmail/v1/users/me/messages/send
POST   gmail.users.messages.trash /gmail/v1/users/me/messages/{id}/trash repeatable
POST   gmail.users.messages.untrash /gmail/v1/users/me/messages/{id}/untrash repeatable
POST   gmail.users.settings.filters.create /gmail/v1/users/me/settings/filters
DELETE gmail.users.settings.filters.delete /gmail/v1/users/me/settings/filters/{id}
GET    gmail.users.settings.filters.list /gmail/v1/users/me/settings/filters
GET    gmail.users.settings.forwardingAddresses.list /gmail/v1/users/me/settings/forwardingAddresses
GET    gmail.users.settings.getAutoForwarding /gmail/v1/users/me/settings/autoForwarding
GET    gmail.users.settings.getVacation /gmail/v1/users/me/settings/vacation
GET    gmail.users.settings.sendAs.list /gmail/v1/users/me/settings/sendAs
PATCH  gmail.users.settings.sendAs.patch /gmail/v1/users/me/settings/sendAs/{sendAsEmail}
PUT    gmail.users.settings.updateAutoForwarding /gmail/v1/users/me/settings/autoForwarding
PUT    gmail.users.settings.updateVacation /gmail/v1/users/me/settings/vacation
GET    gmail.users.threads.get /gmail/v1/users/me/threads/{id}
POST   gmail.users.threads.modify /gmail/v1/users/me/threads/{id}/modify repeatable
POST   gmail.users.threads.trash /gmail/v1/users/me/threads/{id}/trash repeatable
POST   gmail.users.threads.untrash /gmail/v1/users/me/threads/{id}/untrash repeatable
GET    drive.about.get /drive/v3/about
POST   drive.comments.create /drive/v3/files/{fileId}/comments
DELETE drive.comments.delete /drive/v3/files/{fileId}/comments/{commentId}
GET    drive.comments.get /drive/v3/files/{fileId}/comments/{commentId}
GET    drive.comments.list /drive/v3/files/{fileId}/comments
PATCH  drive.comments.update /drive/v3/files/{fileId}/comments/{commentId}
GET    drive.drives.list /drive/v3/drives
POST   drive.files.copy /drive/v3/files/{fileId}/copy all_drives
POST   drive.files.create /drive/v3/files all_drives
POST   drive.files.download /drive/v3/files/{fileId}/download repeatable reading
GET    drive.files.export /drive/v3/files/{fileId}/export
GET    drive.files.generateIds /drive/v3/files/generateIds
GET    drive.files.get /drive/v3/files/{fileId} all_drives
GET    drive.files.list /drive/v3/files all_drives
PATCH  drive.files.update /drive/v3/files/{fileId} all_drives
GET    drive.operations.get /drive/v3/operations/{name}
POST   drive.permissions.create /drive/v3/files/{fileId}/permissions all_drives
DELETE drive.permissions.delete /drive/v3/files/{fileId}/permissions/{permissionId} all_drives
GET    drive.permissions.list /drive/v3/files/{fileId}/permissions all_drives
PATCH  drive.permissions.update /drive/v3/files/{fileId}/permissions/{permissionId} all_drives
POST   drive.replies.create /drive/v3/files/{fileId}/comments/{commentId}/replies
DELETE drive.replies.delete /drive/v3/files/{fileId}/comments/{commentId}/replies/{replyId}
PATCH  drive.replies.update /drive/v3/files/{fileId}/comments/{commentId}/replies/{replyId}
GET    calendar.calendarList.list /calendar/v3/users/me/calendarList
DELETE calendar.calendars.delete /calendar/v3/calendars/{calendarId}
POST   calendar.calendars.insert /calendar/v3/calendars
PATCH  calendar.calendars.patch /calendar/v3/calendars/{calendarId}
DELETE calendar.events.delete /calendar/v3/calendars/{calendarId}/events/{eventId}
GET    calendar.events.get /calendar/v3/calendars/{calendarId}/events/{eventId}
POST   calendar.events.insert /calendar/v3/calendars/{calendarId}/events
GET    calendar.events.instances /calendar/v3/calendars/{calendarId}/events/{eventId}/instances
GET    calendar.events.list /calendar/v3/calendars/{calendarId}/events
POST   calendar.events.move /calendar/v3/calendars/{calendarId}/events/{eventId}/move repeatable
PATCH  calendar.events.patch /calendar/v3/calendars/{calendarId}/events/{eventId}
POST   calendar.freebusy.query /calendar/v3/freeBusy repeatable reading
POST   people.contactGroups.create /v1/contactGroups
DELETE people.contactGroups.delete /v1/{+resourceName}
GET    people.contactGroups.get /v1/{+resourceName}
GET    people.contactGroups.list /v1/contactGroups
POST   people.contactGroups.members.modify /v1/{+resourceName}/members:modify repeatable
PUT    people.contactGroups.update /v1/{+resourceName}
GET    people.otherContacts.search /v1/otherContacts:search
POST   people.people.batchDeleteContacts /v1/people:batchDeleteContacts repeatable
GET    people.people.connections.list /v1/{+resourceName}/connections
POST   people.people.createContact /v1/people:createContact
DELETE people.people.deleteContact /v1/{+resourceName}:deleteContact
GET    people.people.get /v1/{+resourceName}
GET    people.people.getBatchGet /v1/people:batchGet
GET    people.people.searchContacts /v1/people:searchContacts
GET    people.people.searchDirectoryPeople /v1/people:searchDirectoryPeople
PATCH  people.people.updateContact /v1/{+resourceName}:updateContact
POST   docs.documents.batchUpdate /v1/documents/{documentId}:batchUpdate
POST   docs.documents.create /v1/documents
GET    docs.documents.get /v1/documents/{documentId}
POST   sheets.spreadsheets.batchUpdate /v4/spreadsheets/{spreadsheetId}:batchUpdate
POST   sheets.spreadsheets.create /v4/spreadsheets
GET    sheets.spreadsheets.get /v4/spreadsheets/{spreadsheetId}
POST   sheets.spreadsheets.sheets.copyTo /v4/spreadsheets/{spreadsheetId}/sheets/{sheetId}:copyTo
POST   sheets.spreadsheets.values.append /v4/spreadsheets/{spreadsheetId}/values/{range}:append
POST   sheets.spreadsheets.values.batchClear /v4/spreadsheets/{spreadsheetId}/values:batchClear repeatable
GET    sheets.spreadsheets.values.batchGet /v4/spreadsheets/{spreadsheetId}/values:batchGet
POST   sheets.spreadsheets.values.batchUpdate /v4/spreadsheets/{spreadsheetId}/values:batchUpdate repeatable
PUT    sheets.spreadsheets.values.update /v4/spreadsheets/{spreadsheetId}/values/{range}
POST   slides.presentations.batchUpdate /v1/presentations/{presentationId}:batchUpdate
POST   slides.presentations.create /v1/presentations
GET    slides.presentations.get /v1/presentations/{+presentationId}
GET    slides.presentations.pages.getThumbnail /v1/presentations/{presentationId}/pages/{pageObjectId}/thumbnail
POST   forms.forms.batchUpdate /v1/forms/{formId}:batchUpdate
POST   forms.forms.create /v1/forms
GET    forms.forms.get /v1/forms/{formId}
GET    forms.forms.responses.get /v1/forms/{formId}/responses/{responseId}
GET    forms.forms.responses.list /v1/forms/{formId}/responses
POST   forms.forms.setPublishSettings /v1/forms/{formId}:setPublishSettings repeatable
DELETE tasks.tasklists.delete /tasks/v1/users/@me/lists/{tasklist}
GET    tasks.tasklists.get /tasks/v1/users/@me/lists/{tasklist}
POST   tasks.tasklists.insert /tasks/v1/users/@me/lists
GET    tasks.tasklists.list /tasks/v1/users/@me/lists
PATCH  tasks.tasklists.patch /tasks/v1/users/@me/lists/{tasklist}
POST   tasks.tasks.clear /tasks/v1/lists/{tasklist}/clear repeatable
DELETE tasks.tasks.delete /tasks/v1/lists/{tasklist}/tasks/{task}
GET    tasks.tasks.get /tasks/v1/lists/{tasklist}/tasks/{task}
POST   tasks.tasks.insert /tasks/v1/lists/{tasklist}/tasks
GET    tasks.tasks.list /tasks/v1/lists/{tasklist}/tasks
POST   tasks.tasks.move /tasks/v1/lists/{tasklist}/tasks/{task}/move repeatable
PATCH  tasks.tasks.patch /tasks/v1/lists/{tasklist}/tasks/{task}
"""


def _method(line: str) -> Method:
    verb, method_id, path, *words = line.split()
    return Method(
        method_id,
        verb,
        path,
        is_repeatable=verb != "POST" or "repeatable" in words,
        is_reading=verb == "GET" or "reading" in words,
        takes_all_drives="all_drives" in words,
    )


METHODS = MappingProxyType({method.id: method for method in map(_method, _TABLE.split("\n")[1:-1])})
"""By id."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to a method of an API.

    Attributes:
        method: what is called.
        target: path and query.
        body: what is sent as JSON, ``None`` for nothing.
        is_repeatable: whether it can be sent again when no one knows whether it was carried out.
        unclear_hint: how to find out whether it was.
    """

    method: Method
    target: str
    body: Mapping[str, Any] | None
    is_repeatable: bool
    unclear_hint: str = ""

    @property
    def url(self) -> str:
        """The target."""
        return f"https://{self.method.api.host}{self.target}"

    @property
    def upload_url(self) -> str:
        """The target folder when a file is uploaded."""
        return f"https://{self.method.api.host}/upload{self.target}"

    @property
    def content(self) -> bytes | None:
        """The body as it is sent; half a character (a lone surrogate) becomes a question mark."""
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode(errors="replace")


def api_request(
    called: str | Method,
    *,
    body: Mapping[str, Any] | None = None,
    fields: str | None = None,
    is_repeatable: bool | None = None,
    unclear_hint: str = "",
    **parameters: Any,
) -> ApiRequest:
    """Build a request.

    Args:
        called: the method, or its id in :data:`~oneclaw_google_workspace.methods.METHODS`, such as
            ``tasks.tasks.list``.
        body: of the request, as JSON data.
        fields: the parts of the answer that are wanted, such as ``items(id,title),nextPageToken``; without it, all.
        is_repeatable: whether it can be sent again when no one knows whether it was carried out; by default what the
            method says. Give ``True`` to a POST that carries an id or a revision of your own.
        unclear_hint: what a model should look at to find out whether it was carried out, such as ``Look for it with
            tasks_list``.
        parameters: of path and query, by the names that Google gives them; ``None`` is left out, a list is repeated.

    Raises:
        GoogleError: a parameter of the path is empty.
        KeyError: there is no such method, or a parameter of the path is missing; a fault of the caller's.
    """
    method = METHODS[called] if isinstance(called, str) else called
    rest = dict(parameters)
    if method.takes_all_drives:
        rest.setdefault("supportsAllDrives", True)

    def fill(match: re.Match[str]) -> str:
        name, value = match[2], str(rest.pop(match[2]))
        if not value.strip("/ "):
            raise invalid(f"{name} must not be empty.")
        if not match[1]:
            return _segment(value)
        return "/".join(map(_segment, value.split("/")))

    path = _PARAMETER.sub(fill, method.path)
    query = [(name, _text(each)) for name, value in rest.items() for each in _values(value)]
    if fields is not None:
        query.append(("fields", fields))
    return ApiRequest(
        method,
        f"{path}?{urlencode(query, errors='replace')}" if query else path,
        body,
        method.is_repeatable if is_repeatable is None else is_repeatable,
        unclear_hint,
    )


def _segment(value: str) -> str:
    # Dots alone would be taken for a step up when the path is normalised; Google has no ids of that kind.
    if value in (".", ".."):
        raise invalid(f"{value!r} is no id.")
    return quote(value, safe="", errors="replace")


def _values(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
