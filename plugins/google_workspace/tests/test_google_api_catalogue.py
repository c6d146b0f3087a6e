"""The catalogue of Google's methods: complete, what the Discovery documents say, classified, found, described."""

import json
import warnings
from zipfile import ZipFile

import pytest
from google_discovery import DOCUMENTS, described_methods, document_of
from how_long import some
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.google_api.catalogue import (
    CATALOGUE,
    HARMS,
    MOST_HARMFUL,
    READ,
    api_methods,
    catalogue_of,
    harm_of,
    reader_of,
    write_catalogue,
)
from oneclaw_google_workspace.google_api.finding import details, find_methods, summary
from oneclaw_google_workspace.methods import APIS
from oneclaw_google_workspace.scopes import SERVICES

from oneclaw_core.manifests.manifest import load_manifest

MOST_BYTES = 300_000
KINDS = {"read", "organize", "write", "send", "share", "forward", "delete"}


def shipped(name):
    with ZipFile(CATALOGUE) as archive:
        return json.loads(archive.read(name))


# The data


def test_there_are_the_methods_of_twelve_apis():
    assert {method.api for method in api_methods().values()} == set(APIS)
    assert len(APIS) == 12
    assert len(api_methods()) >= 340


def test_the_data_are_small():
    assert CATALOGUE.stat().st_size <= MOST_BYTES


@pytest.mark.one_python
@pytest.mark.parametrize("api", some(APIS, 5))
def test_the_data_are_what_the_discovery_document_says(api):
    document = document_of(api)
    if shipped("methods.json")["revisions"][api] != document["revision"]:
        pytest.skip("the installed document is of another day than the catalogue")
    methods, schemas = catalogue_of(document)
    assert [each for each in shipped("methods.json")["methods"] if each["id"].startswith(f"{api}.")] == methods
    assert shipped(f"schemas/{api}.json") == schemas


def test_every_method_is_in_the_installed_discovery_documents():
    assert {name for name in api_methods() if name not in described_methods()} == set()


@pytest.mark.one_python
def test_the_same_documents_give_the_same_bytes(tmp_path):
    for name in ("first.zip", "second.zip"):
        write_catalogue(DOCUMENTS, tmp_path / name)
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


# Harm


def test_every_method_is_classified_and_nothing_else():
    assert set(HARMS) == set(api_methods())
    assert set(HARMS.values()) == KINDS


def test_only_what_changes_nothing_counts_as_reading():
    for method_id, method in api_methods().items():
        if HARMS[method_id] != READ:
            assert method.verb != "GET", method_id
        elif method.verb != "GET":
            name = method_id.rpartition(".")[2]
            is_query = name.startswith(("get", "search", "query", "batchGet", "download"))
            assert is_query, f"{method_id}: a POST that is no query"


@pytest.mark.parametrize(
    ("method_id", "body", "harm"),
    [
        ("people.people.inventedYesterday", {}, MOST_HARMFUL),
        ("gmail.users.messages.modify", {"addLabelIds": ["STARRED"]}, "organize"),
        ("gmail.users.messages.modify", {"addLabelIds": ["TRASH"]}, "delete"),
        ("gmail.users.threads.modify", {"addLabelIds": ["TRASH"]}, "delete"),
        ("gmail.users.messages.batchModify", {"addLabelIds": ["TRASH"]}, "delete"),
        ("gmail.users.settings.filters.create", {"action": {"forward": "x@example.net"}}, "forward"),
        ("gmail.users.settings.filters.create", {"action": {"addLabelIds": ["TRASH"]}}, "delete"),
        ("gmail.users.settings.filters.create", {"action": {"addLabelIds": ["Label_1"]}}, "write"),
        ("drive.files.update", {"trashed": True}, "delete"),
        ("drive.files.update", {"name": "x"}, "write"),
        ("drive.files.update", {"writersCanShare": True}, "share"),
        ("drive.drives.update", {"restrictions": {"domainUsersOnly": False}}, "share"),
        ("gmail.users.settings.sendAs.create", {"smtpMsa": {"host": "mail.example.org"}}, "forward"),
        ("gmail.users.settings.sendAs.patch", {"replyToAddress": "eve@example.org"}, "forward"),
        ("gmail.users.settings.sendAs.patch", {"signature": "Ana"}, "write"),
        ("calendar.events.insert", {"attendees": [{"email": "bo@example.net"}]}, "send"),
        ("calendar.events.insert", {"summary": "x"}, "write"),
    ],
)
def test_what_is_in_the_body_can_make_a_call_more_harmful(method_id, body, harm):
    assert harm_of(method_id, body, {}) == harm


def test_an_event_that_guests_are_told_of_is_sent():
    assert harm_of("calendar.events.patch", {}, {"sendUpdates": "all"}) == "send"
    assert harm_of("calendar.events.patch", {}, {"sendUpdates": "none"}) == "write"


def test_every_permission_that_a_method_can_need_says_what_it_allows():
    from importlib.resources import files

    from oneclaw_google_workspace import GROUPS

    manifests = files("oneclaw_google_workspace") / "manifests"
    said = {name for group in GROUPS for name in load_manifest(manifests / f"{group}.json").group.permissions}
    needed = {f"google.{method.service}.{HARMS[method.id]}" for method in api_methods().values()}
    assert needed - said == set()


def test_google_call_declares_every_permission_that_it_can_ask_for():
    from importlib.resources import files

    (_, call) = load_manifest(files("oneclaw_google_workspace") / "manifests" / "google_api.json").tools
    needed = {f"google.{method.service}.{HARMS[method.id]}" for method in api_methods().values()}
    # What a body can make of others.
    needed |= {"google.gmail_settings.delete", "google.gmail_settings.forward", "google.calendar.send"}
    assert set(call.definition.required_permissions) == needed


def test_every_method_belongs_to_a_service():
    assert {method.service for method in api_methods().values()} == set(SERVICES)


def test_what_shows_a_change_changes_nothing_itself():
    for method_id in (name for name, harm in HARMS.items() if harm != READ):
        reader = reader_of(api_methods()[method_id])
        assert reader is None or HARMS[reader] == READ, method_id


# Descriptions


@pytest.mark.long
@pytest.mark.one_python
def test_every_method_is_described_in_30_to_110_tokens():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its vocabulary in an old way
        from bpe_openai import get_encoding

        encoding = get_encoding("o200k_base")
    counts = {name: len(encoding.encode(summary(method))) for name, method in api_methods().items()}
    assert {name: count for name, count in counts.items() if not 30 <= count <= 110} == {}


@pytest.mark.parametrize(
    ("query", "method_id"),
    [
        ("share a calendar with somebody", "calendar.acl.insert"),
        ("list the spaces of chat", "chat.spaces.list"),
        ("end the meeting in meet", "meet.spaces.endActiveConference"),
        ("delete a mail permanently", "gmail.users.messages.delete"),
        ("create a note in keep", "keep.notes.create"),
        ("transcript of a meeting", "meet.conferenceRecords.transcripts.get"),
        ("version history of a file", "drive.revisions.list"),
        ("imap settings", "gmail.users.settings.getImap"),
        ("add a chart to a spreadsheet", "sheets.spreadsheets.batchUpdate"),
        ("create a calendar", "calendar.calendars.insert"),
        ("create a label for contacts", "people.contactGroups.create"),
        ("reply to a comment", "drive.replies.create"),
    ],
)
def test_a_method_is_found_by_words_among_the_first_eight(query, method_id):
    assert method_id in [method.id for method in find_methods(query, 8)]


def test_details_name_everything_that_a_method_takes():
    found = details(api_methods()["calendar.acl.insert"], None)
    assert found["permission"] == "google.calendar.share"
    assert list(found["parameters"]) == ["calendarId*", "sendNotifications"]
    assert found["body"]["role"].startswith("string. The role assigned to the scope.")
    assert found["body"]["scope"].startswith("object")


def test_a_part_of_a_body_is_described_by_its_place():
    found = details(api_methods()["docs.documents.batchUpdate"], "body.requests.insertText")
    assert set(found["fields"]) == {"text", "location", "endOfSegmentLocation"}
    assert found["fields"]["location"].startswith("object Location")


@pytest.mark.parametrize("part", ["body.requests.inventText", "requests", "body.writeControl.requiredRevisionId.x"])
def test_a_part_that_there_is_not_is_refused_with_those_that_there_are(part):
    with pytest.raises(GoogleError, match=r"has no|begins with"):
        details(api_methods()["docs.documents.batchUpdate"], part)
