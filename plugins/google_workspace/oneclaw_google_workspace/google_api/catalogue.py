"""The catalogue of the methods of Google's APIs, made from their Discovery documents, and the harm that each can do.

``catalogue.zip`` is written anew from the folder that has the documents, such as that of google-api-python-client::

    python -m oneclaw_google_workspace.google_api.catalogue .../googleapiclient/discovery_cache/documents

Methods of all APIs are in ``methods.json``; what their requests and answers consist of, in ``schemas/API.json``, which
is read for a call of the API. The same documents give the same bytes. Every method is in the table of harms. One that
is not, such as a new one, counts as the most harmful.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from oneclaw_google_workspace.methods import METHODS, Method

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_google_workspace.client import Harm

Schema = dict[str, Any]
"""A schema as Discovery documents have it: JSON Schema of an early draft, with ``$ref`` to the name of another."""

_SETTINGS = "gmail.users.settings."
_LABELS = "gmail.users.labels."
_SERVICES = {"people": "contacts"}
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

DOCUMENTS = {
    "gmail": "gmail.v1",
    "drive": "drive.v3",
    "calendar": "calendar.v3",
    "people": "people.v1",
    "docs": "docs.v1",
    "sheets": "sheets.v4",
    "slides": "slides.v1",
    "forms": "forms.v1",
    "tasks": "tasks.v1",
    "chat": "chat.v1",
    "meet": "meet.v2",
    "keep": "keep.v1",
}
"""By the first word of the ids of an API's methods, the name of its document."""

CATALOGUE = Path(__file__).with_name("catalogue.zip")
_SCOPE_PREFIX = "https://www.googleapis.com/auth/"
_PARAMETER_KEYS = (
    "type", "format", "location", "required", "repeated", "enum", "minimum", "maximum", "pattern", "description"
)  # fmt: skip
_SCHEMA_KEYS = ("type", "format", "$ref", "enum", "readOnly", "description")
# Everybody may leave these out, and few have a use for them.
_EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ApiMethod:
    """A method as Google describes it.

    Attributes:
        id: such as ``calendar.acl.insert``.
        verb: of HTTP.
        path: below the host, with parameters in braces.
        description: Google's, on one line.
        parameters: of path and query, by name.
        request: name of the body's schema; ``None`` if it takes no body.
        response: name of the answer's schema; ``None`` if it answers nothing, or a file.
        scopes: one of them is enough; without ``https://www.googleapis.com/auth/``.
        takes_file: True if a file can be sent along.
        gives_file: True if it can answer with a file.
    """

    id: str
    verb: str
    path: str
    description: str
    parameters: Mapping[str, Schema]
    request: str | None
    response: str | None
    scopes: tuple[str, ...]
    takes_file: bool
    gives_file: bool

    @property
    def api(self) -> str:
        """The first word of the id."""
        return self.id.partition(".")[0]

    @property
    def service(self) -> str:
        """The service to sign in for; a key of ``SERVICES``."""
        if self.id.startswith(_SETTINGS) or (self.id.startswith(_LABELS) and self.verb != "GET"):
            return "gmail_settings"
        return _SERVICES.get(self.api, self.api)

    @property
    def sentence(self) -> str:
        """The first sentence of the description."""
        return self.description.partition(". ")[0].rstrip(".")

    def as_called(self, *, is_reading: bool) -> Method:
        """Describe it as the client calls it.

        Args:
            is_reading: True if it changes nothing.
        """
        known = METHODS.get(self.id)
        return Method(
            self.id,
            self.verb,
            self.path,
            is_repeatable=is_reading or self.verb != "POST" or (known is not None and known.is_repeatable),
            is_reading=is_reading,
            takes_all_drives="supportsAllDrives" in self.parameters,
        )


@cache
def api_methods() -> Mapping[str, ApiMethod]:
    """Return all methods by id."""
    return MappingProxyType({each["id"]: _method(each) for each in _read("methods.json")["methods"]})


@cache
def schemas_of(api: str) -> Mapping[str, Schema]:
    """Return the schemas of an API by name."""
    return MappingProxyType(_read(f"schemas/{api}.json"))


def resolved(api: str, schema: Schema) -> Schema:
    """Follow a schema that stands for another one."""
    while "$ref" in schema:
        schema = schemas_of(api)[schema["$ref"]]
    return schema


def reader_of(method: ApiMethod) -> str | None:
    """Find the method that shows what another one has changed.

    Args:
        method: that changes something.
    """
    resource = method.id.rpartition(".")[0]
    names = (f"{resource}.get", f"{resource}.list", f"{resource.rpartition('.')[0]}.get")
    return next((name for name in names if name in api_methods()), None)


def _method(raw: Mapping[str, Any]) -> ApiMethod:
    return ApiMethod(
        raw["id"],
        raw["verb"],
        raw["path"],
        raw["description"],
        MappingProxyType(raw.get("parameters", {})),
        raw.get("request"),
        raw.get("response"),
        tuple(raw["scopes"]),
        raw.get("takes_file", False),
        raw.get("gives_file", False),
    )


def _read(name: str) -> Any:
    resource = files(__package__) / "catalogue.zip"
    with resource.open("rb") as stream, ZipFile(stream) as archive:
        return json.loads(archive.read(name))


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


def catalogue_of(document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Take what OneClaw uses out of a Discovery document.

    Args:
        document: as Google publishes it.

    Returns:
        The methods, and the schemas by name.
    """
    base = f"/{document['servicePath']}"
    methods = [_method_entry(base, each) for each in _methods(document)]
    return methods, {name: _schema(each) for name, each in document["schemas"].items()}


def write_catalogue(folder: Path, target: Path = CATALOGUE) -> None:
    """Write the catalogue.

    Args:
        folder: with the documents.
        target: the file to write.
    """
    methods: list[dict[str, Any]] = []
    revisions: dict[str, str] = {}
    schemas: dict[str, dict[str, Any]] = {}
    for api, name in DOCUMENTS.items():
        document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        revisions[api] = document["revision"]
        found, schemas[api] = catalogue_of(document)
        methods += found
    with ZipFile(target, "w") as archive:
        _write(archive, "methods.json", {"revisions": revisions, "methods": methods})
        for api, each in schemas.items():
            _write(archive, f"schemas/{api}.json", each)


def _methods(resource: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for each in resource.get("resources", {}).values():
        yield from _methods(each)


def _method_entry(base: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    made = {
        "id": raw["id"],
        "verb": raw["httpMethod"],
        "path": base + raw["path"],
        "description": _one_line(raw["description"]),
        "parameters": {
            name: _picked(each, _PARAMETER_KEYS)
            for name, each in raw.get("parameters", {}).items()
            if not each.get("deprecated") or each.get("required")
        },
        "request": raw.get("request", {}).get("$ref"),
        "response": raw.get("response", {}).get("$ref"),
        "scopes": [each.removeprefix(_SCOPE_PREFIX) for each in raw["scopes"]],
        "takes_file": bool(raw.get("mediaUpload")),
        "gives_file": bool(raw.get("supportsMediaDownload")),
    }
    return {name: value for name, value in made.items() if value}


def _schema(raw: Mapping[str, Any]) -> dict[str, Any]:
    made = _picked(raw, _SCHEMA_KEYS)
    if "properties" in raw:
        made["properties"] = {name: _schema(each) for name, each in raw["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            made[key] = _schema(raw[key])
    return made


def _picked(raw: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    picked = {key: raw[key] for key in keys if key in raw}
    if "description" in picked:
        picked["description"] = _one_line(picked["description"])
    return picked


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _write(archive: ZipFile, name: str, value: object) -> None:
    entry = ZipInfo(name, _EARLIEST)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    archive.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    write_catalogue(Path(sys.argv[1]))
