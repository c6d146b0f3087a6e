"""What a permission is for: people, files, or an account; a lasting answer holds for nothing else."""

import asyncio

import pytest
from click.testing import CliRunner
from google_desk import Desk, give_database, open_home, sign_in
from oneclaw_google_workspace.answers import files_in
from oneclaw_google_workspace.commands import google as command

from oneclaw_core import PermissionAnswer
from oneclaw_core.permissions import Decision, Grant

MAIL = {"subject": "Hi", "body": "Hello"}


def outcomes(home, folder, grants, *calls):
    """Call tools where no one can be asked; gives the error types."""

    async def work():
        async with open_home(home, start_directory=folder) as claw:
            for grant in grants:
                await claw.store.set_grant(grant)
            return [(await claw.call_tool(tool, arguments)).result.error_type for tool, arguments in calls]

    return asyncio.run(work())


def test_a_mail_to_several_people_needs_a_grant_for_each(google, home, tmp_path):
    grants = [Grant("google.gmail.send", "bo@example.net"), Grant("google.gmail.send", "*@example.org")]
    calls = [
        ("gmail_send", {"to": to, **MAIL})
        for to in (
            ["bo@example.net"],
            ["bo@example.net", "cy@example.org"],
            ["bo@example.net", "eve@example.net"],
        )
    ]
    assert outcomes(home, tmp_path, grants, *calls) == [None, None, "permission_denied"]


def test_a_hidden_recipient_counts_too(google, home, tmp_path):
    call = ("gmail_send", {"to": ["bo@example.net"], "bcc": ["eve@example.com"], **MAIL})
    assert outcomes(home, tmp_path, [Grant("google.gmail.send", "bo@example.net")], call) == ["permission_denied"]


def test_sharing_with_a_domain_is_granted_by_its_name(google, home, tmp_path):
    file = google.services["drive"].add("Budget")
    calls = [
        ("drive_share_file", {"file_id": file, "type": "domain", "domain": "example.com"}),
        ("drive_share_file", {"file_id": file, "type": "domain", "domain": "example.net"}),
        ("drive_share_file", {"file_id": file, "type": "anyone"}),
    ]
    grants = [Grant("google.drive.share", "example.com")]
    assert outcomes(home, tmp_path, grants, *calls) == [None, "permission_denied", "permission_denied"]


@pytest.mark.long
def test_what_is_granted_for_tidying_up_covers_nothing_worse(google, home, tmp_path):
    gmail, drive = google.services["gmail"], google.services["drive"]
    gmail.forwarding_addresses = {"bo@example.net": "accepted"}
    mail, file = gmail.deliver("Bo <bo@example.net>", "Hello"), drive.add("Budget")
    calls = [
        ("gmail_archive", {"message_ids": [mail]}),
        ("gmail_send", {"to": ["bo@example.net"], **MAIL}),
        ("gmail_trash", {"message_ids": [mail]}),
        ("drive_manage_file", {"action": "star", "file_ids": [file]}),
        ("drive_share_file", {"file_id": file, "type": "anyone"}),
        ("drive_manage_file", {"action": "trash", "file_ids": [file]}),
        ("gmail_label_manage", {"action": "create", "name": "Bills"}),
        ("gmail_filter_manage", {"action": "create", "query": "x", "forward_to": "bo@example.net"}),
    ]

    grants = [Grant(f"google.{service}.organize") for service in ("gmail", "drive", "gmail_settings")]

    no = "permission_denied"
    assert outcomes(home, tmp_path, grants, *calls) == [None, no, no, None, no, no, None, no]


@pytest.mark.long
def test_a_grant_for_a_file_is_for_it_alone(google, home, tmp_path):
    drive = google.services["drive"]
    mine, other = drive.add("Mine"), drive.add("Other")
    calls = [
        ("drive_manage_file", {"action": "set_description", "file_ids": [mine], "description": "x"}),
        ("drive_manage_file", {"action": "set_description", "file_ids": [mine, other], "description": "x"}),
        ("drive_manage_file", {"action": "trash", "file_ids": [mine]}),
        ("google_call", {"method": "drive.files.update", "parameters": {"fileId": mine}, "body": {"name": "x"}}),
        ("google_call", {"method": "drive.files.update", "parameters": {"fileId": other}, "body": {"name": "x"}}),
    ]
    found = outcomes(home, tmp_path, [Grant("google.drive.write", mine)], *calls)
    assert found == [None, "permission_denied", "permission_denied", None, "permission_denied"]


def test_a_file_can_be_kept_from_changes(google, home, tmp_path):
    file = google.services["drive"].add("Contract")
    grants = [Grant("google.drive.write"), Grant("google.drive.write", file, Decision.DENY)]
    call = ("drive_manage_file", {"action": "set_description", "file_ids": [file], "description": "x"})
    assert outcomes(home, tmp_path, grants, call) == ["permission_denied"]


@pytest.mark.long
def test_the_question_names_the_file_for_which_it_is(desk, google):
    file = google.services["drive"].add("Budget")
    link = f"https://drive.google.com/file/d/{file}/view"
    desk("drive_manage_file", action="set_description", file_ids=[link], description="x")
    assert desk.subjects == [file]


@pytest.mark.long
def test_moving_into_a_folder_is_for_the_folder_too(desk, google):
    drive = google.services["drive"]
    file, folder = drive.add("Budget"), drive.add_folder("Shared")
    desk("drive_manage_file", action="move", file_ids=[file], folder_id=folder)
    assert desk.subjects == [f"{file}, {folder}"]


@pytest.mark.long
def test_always_for_a_change_without_a_file_is_for_the_account(desk, home):
    desk.answer = PermissionAnswer.ALWAYS
    desk("tasks_create", title="Milk")
    assert desk.subjects == ["as work"]
    desk("tasks_create", title="Bread")
    assert len(desk.asked) == 1


@pytest.fixture
def two(google, empty_home, tmp_path):
    give_database(empty_home)
    sign_in(google, empty_home)
    sign_in(google, empty_home, name="private", user="bo@example.com")
    CliRunner().invoke(command, ["use", "--also", "private"])
    return empty_home


def test_what_is_granted_for_an_account_does_not_cover_another(two, tmp_path):
    calls = [("tasks_create", {"title": "Milk", **named}) for named in ({}, {"account": "private"})]
    assert outcomes(two, tmp_path, [Grant("google.tasks.write", "as work")], *calls) == [None, "permission_denied"]


@pytest.mark.long
def test_what_is_granted_for_people_does_not_cover_another_account(two, tmp_path):
    mail = {"to": ["bo@example.net"], **MAIL}
    calls = [("gmail_send", {**mail, **named}) for named in ({}, {"account": "private"})]
    grants = [Grant("google.gmail.send", "bo@example.net")]
    assert outcomes(two, tmp_path, grants, *calls) == [None, "permission_denied"]
    more = [*grants, Grant("google.gmail.send", "as private")]
    assert outcomes(two, tmp_path, more, *calls) == [None, None]


def test_reading_can_be_denied_for_one_account(two, tmp_path):
    calls = [("tasks_list", named) for named in ({}, {"account": "private"})]
    grants = [Grant("google.tasks.read", "as private", Decision.DENY)]
    assert outcomes(two, tmp_path, grants, *calls) == [None, "permission_denied"]


@pytest.mark.long
def test_the_question_for_another_account_names_it_beside_the_people(two, tmp_path):
    desk = Desk(two, tmp_path)
    desk("gmail_send", to=["bo@example.net"], account="private", **MAIL)
    assert desk.subjects == ["bo@example.net, as private"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"file_ids": ["a1", "b2", "a1"]}, ["a1", "b2"]),
        ({"document_id": "https://docs.google.com/document/d/a1/edit"}, ["a1"]),
        ({"spreadsheet_id": "a1", "destination_spreadsheet_id": "b2"}, ["a1", "b2"]),
        ({"folder_id": "root"}, []),
        ({"file_id": "not an id"}, []),
        ({"title": "a1", "file_id": None}, []),
    ],
)
def test_files_are_found_in_the_arguments_of_any_tool(arguments, expected):
    assert files_in(arguments) == expected
