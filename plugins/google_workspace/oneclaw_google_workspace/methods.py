"""The methods of Google's APIs that the tools use, as Google's Discovery documents describe them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from oneclaw_google_workspace.apis import APIS

if TYPE_CHECKING:
    from oneclaw_google_workspace.apis import Api


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an API.

    Attributes:
        id: as Google names it, such as ``tasks.tasks.list``.
        verb: of HTTP.
        path: below the host, with parameters in braces; the value of ``{+name}`` keeps its slashes.
        is_repeatable: whether doing it twice comes to the same as doing it once, so that it can be sent again when
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
GET    calendar.calendarList.list /calendar/v3/users/me/calendarList
DELETE calendar.events.delete /calendar/v3/calendars/{calendarId}/events/{eventId}
GET    calendar.events.get /calendar/v3/calendars/{calendarId}/events/{eventId}
POST   calendar.events.insert /calendar/v3/calendars/{calendarId}/events
GET    calendar.events.instances /calendar/v3/calendars/{calendarId}/events/{eventId}/instances
GET    calendar.events.list /calendar/v3/calendars/{calendarId}/events
POST   calendar.events.move /calendar/v3/calendars/{calendarId}/events/{eventId}/move repeatable
PATCH  calendar.events.patch /calendar/v3/calendars/{calendarId}/events/{eventId}
POST   calendar.freebusy.query /calendar/v3/freeBusy repeatable reading
GET    people.contactGroups.get /v1/{+resourceName}
GET    people.contactGroups.list /v1/contactGroups
POST   people.contactGroups.members.modify /v1/{+resourceName}/members:modify repeatable
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
