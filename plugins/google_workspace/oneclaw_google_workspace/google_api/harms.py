"""The harm that each method of Google's APIs can do, which is the last part of the permission that it needs.

Every method is in the table. One that is not, such as a new one, counts as the most harmful.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_google_workspace.client import Harm

READ = "read"
MOST_HARMFUL: Harm = "delete"

# Fields of files and shared drives that say who may give access.
_RIGHTS = ("writersCanShare", "restrictions", "inheritedPermissionsDisabled", "copyRequiresWriterPermission")

# A line: the harm, a resource, and its methods.
_TABLE = """
read     gmail.users: getProfile
organize gmail.users: stop
forward  gmail.users: watch
read     gmail.users.drafts: get list
write    gmail.users.drafts: create update
send     gmail.users.drafts: send
delete   gmail.users.drafts: delete
read     gmail.users.history: list
read     gmail.users.labels: get list
organize gmail.users.labels: create patch update
delete   gmail.users.labels: delete
read     gmail.users.messages: get list
organize gmail.users.messages: batchModify modify untrash
write    gmail.users.messages: import insert
send     gmail.users.messages: send
delete   gmail.users.messages: batchDelete delete trash
read     gmail.users.messages.attachments: get
read     gmail.users.settings: getAutoForwarding getImap getLanguage getPop getVacation
write    gmail.users.settings: updateImap updateLanguage updatePop updateVacation
forward  gmail.users.settings: updateAutoForwarding
read     gmail.users.settings.cse.identities: get list
write    gmail.users.settings.cse.identities: create patch
delete   gmail.users.settings.cse.identities: delete
read     gmail.users.settings.cse.keypairs: get list
write    gmail.users.settings.cse.keypairs: create enable
delete   gmail.users.settings.cse.keypairs: disable obliterate
read     gmail.users.settings.delegates: get list
organize gmail.users.settings.delegates: delete
share    gmail.users.settings.delegates: create
read     gmail.users.settings.filters: get list
write    gmail.users.settings.filters: create
delete   gmail.users.settings.filters: delete
read     gmail.users.settings.forwardingAddresses: get list
forward  gmail.users.settings.forwardingAddresses: create
delete   gmail.users.settings.forwardingAddresses: delete
read     gmail.users.settings.sendAs: get list
write    gmail.users.settings.sendAs: create patch update
send     gmail.users.settings.sendAs: verify
delete   gmail.users.settings.sendAs: delete
read     gmail.users.settings.sendAs.smimeInfo: get list
write    gmail.users.settings.sendAs.smimeInfo: insert setDefault
delete   gmail.users.settings.sendAs.smimeInfo: delete
read     gmail.users.threads: get list
organize gmail.users.threads: modify untrash
delete   gmail.users.threads: delete trash
read     drive.about: get
read     drive.accessproposals: get list
share    drive.accessproposals: resolve
read     drive.approvals: get list
send     drive.approvals: approve cancel comment decline reassign start
read     drive.apps: get list
read     drive.changes: getStartPageToken list
forward  drive.changes: watch
organize drive.channels: stop
read     drive.comments: get list
send     drive.comments: create update
delete   drive.comments: delete
read     drive.drives: get list
organize drive.drives: hide unhide
write    drive.drives: create update
delete   drive.drives: delete
read     drive.files: download export generateCseToken generateIds get list listLabels
organize drive.files: modifyLabels
write    drive.files: copy create update
forward  drive.files: watch
delete   drive.files: delete emptyTrash
read     drive.operations: get
read     drive.permissions: get list
organize drive.permissions: delete
share    drive.permissions: create update
read     drive.replies: get list
send     drive.replies: create update
delete   drive.replies: delete
read     drive.revisions: get list
share    drive.revisions: update
delete   drive.revisions: delete
read     drive.teamdrives: get list
write    drive.teamdrives: create update
delete   drive.teamdrives: delete
read     calendar.acl: get list
organize calendar.acl: delete
share    calendar.acl: insert patch update
forward  calendar.acl: watch
read     calendar.calendarList: get list
organize calendar.calendarList: delete insert patch update
forward  calendar.calendarList: watch
read     calendar.calendars: get
write    calendar.calendars: insert patch update
share    calendar.calendars: transferOwnership
delete   calendar.calendars: clear delete
organize calendar.channels: stop
read     calendar.colors: get
read     calendar.events: get instances list
write    calendar.events: import insert move patch quickAdd update
forward  calendar.events: watch
delete   calendar.events: delete
read     calendar.freebusy: query
read     calendar.settings: get list
forward  calendar.settings: watch
read     people.contactGroups: batchGet get list
organize people.contactGroups: create update
delete   people.contactGroups: delete
organize people.contactGroups.members: modify
read     people.otherContacts: list search
write    people.otherContacts: copyOtherContactToMyContactsGroup
read     people.people: get getBatchGet listDirectoryPeople searchContacts searchDirectoryPeople
write    people.people: batchCreateContacts batchUpdateContacts createContact updateContact updateContactPhoto
delete   people.people: batchDeleteContacts deleteContact deleteContactPhoto
read     people.people.connections: list
read     docs.documents: get
write    docs.documents: batchUpdate create
read     sheets.spreadsheets: get getByDataFilter
write    sheets.spreadsheets: batchUpdate create
read     sheets.spreadsheets.developerMetadata: get search
write    sheets.spreadsheets.sheets: copyTo
read     sheets.spreadsheets.values: batchGet batchGetByDataFilter get
write    sheets.spreadsheets.values: append batchClear batchClearByDataFilter batchUpdate batchUpdateByDataFilter
write    sheets.spreadsheets.values: clear update
read     slides.presentations: get
write    slides.presentations: batchUpdate create
read     slides.presentations.pages: get getThumbnail
read     forms.forms: get
write    forms.forms: batchUpdate create
share    forms.forms: setPublishSettings
read     forms.forms.responses: get list
read     forms.forms.watches: list
organize forms.forms.watches: delete
forward  forms.forms.watches: create renew
read     tasks.tasklists: get list
write    tasks.tasklists: insert patch update
delete   tasks.tasklists: delete
read     tasks.tasks: get list
organize tasks.tasks: move
write    tasks.tasks: insert patch update
delete   tasks.tasks: clear delete
read     chat.customEmojis: get list
write    chat.customEmojis: create
delete   chat.customEmojis: delete
read     chat.media: download
write    chat.media: upload
read     chat.spaces: findDirectMessage findGroupChats get list search
share    chat.spaces: create patch setup
delete   chat.spaces: completeImport delete
read     chat.spaces.members: get list
share    chat.spaces.members: create patch
delete   chat.spaces.members: delete
read     chat.spaces.messagePins: list
organize chat.spaces.messagePins: create delete
read     chat.spaces.messages: get list search
send     chat.spaces.messages: create patch replaceCards update
delete   chat.spaces.messages: delete
read     chat.spaces.messages.attachments: get
read     chat.spaces.messages.reactions: list
send     chat.spaces.messages.reactions: create
delete   chat.spaces.messages.reactions: delete
read     chat.spaces.spaceEvents: get list
read     chat.users.availability: get
organize chat.users.availability: markAsActive markAsAway markAsDoNotDisturb patch
read     chat.users.sections: list
organize chat.users.sections: create delete patch position
read     chat.users.sections.items: list
organize chat.users.sections.items: move
read     chat.users.spaces: getSpaceReadState
organize chat.users.spaces: updateSpaceReadState
read     chat.users.spaces.spaceNotificationSetting: get
organize chat.users.spaces.spaceNotificationSetting: patch
read     chat.users.spaces.threads: getThreadReadState
read     meet.conferenceRecords: get list
read     meet.conferenceRecords.participants: get list
read     meet.conferenceRecords.participants.participantSessions: get list
read     meet.conferenceRecords.recordings: get list
read     meet.conferenceRecords.smartNotes: get list
read     meet.conferenceRecords.transcripts: get list
read     meet.conferenceRecords.transcripts.entries: get list
read     meet.spaces: get
share    meet.spaces: create patch
delete   meet.spaces: endActiveConference
read     meet.spaces.members: get list
share    meet.spaces.members: batchUpdate create patch
delete   meet.spaces.members: delete
read     keep.media: download
read     keep.notes: get list
write    keep.notes: create
delete   keep.notes: delete
organize keep.notes.permissions: batchDelete
share    keep.notes.permissions: batchCreate
"""


def harm_of(method_id: str, body: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """Return the harm of a call.

    Args:
        method_id: what is called.
        body: of the request: what it says can make a call more harmful.
        parameters: of path and query, the same.

    Returns:
        ``read``, or a :data:`~oneclaw_google_workspace.client.Harm`.
    """
    harm = HARMS.get(method_id, MOST_HARMFUL)
    labels = body.get("addLabelIds") or (body.get("action") or {}).get("addLabelIds") or ()
    if method_id.startswith("gmail.") and "TRASH" in labels:
        return "delete"
    if method_id == "gmail.users.settings.filters.create" and (body.get("action") or {}).get("forward"):
        return "forward"
    if method_id in ("drive.files.update", "drive.files.create") and body.get("trashed"):
        return "delete"
    if method_id.startswith("drive.") and harm == "write" and any(name in body for name in _RIGHTS):
        return "share"
    if method_id.startswith("gmail.users.settings.sendAs.") and (body.get("smtpMsa") or body.get("replyToAddress")):
        return "forward"  # mail then goes by way of another server, or answers to another address
    if method_id.startswith("calendar.events.") and harm == "write" and _tells_others(body, parameters):
        return "send"
    return harm


def _tells_others(body: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    return bool(body.get("attendees")) or parameters.get("sendUpdates", "none") != "none"


def _read_table() -> Iterator[tuple[str, str]]:
    for line in _TABLE.split("\n")[1:-1]:
        head, _, names = line.partition(": ")
        harm, resource = head.split()
        yield from ((f"{resource}.{name}", harm) for name in names.split())


HARMS = MappingProxyType(dict(_read_table()))
"""By the id of the method."""
