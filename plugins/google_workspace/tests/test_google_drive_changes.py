"""Sharing and managing files with the group ``google_drive``."""

import pytest
from google_drive_service import SHORTCUT
from how_long import some

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
BO, CY, ANA = "bo@example.com", "cy@example.com", "ana@example.com"


@pytest.fixture
def drive(google):
    return google.services["drive"]


@pytest.fixture
def question(desk):
    """What the user was asked last."""
    return lambda: desk.asked[-1][1].removesuffix(AS_ANA)


# Sharing


def test_a_person_is_given_access_and_mailed(drive, desk, question):
    file = drive.add("Budget")

    answer = desk("drive_share_file", file_id=file, email=BO, role="writer", message="Have a look")

    assert drive.access(file) == {ANA: "owner", BO: "writer"}
    assert drive.mails == [(BO, "Budget", "Have a look")]
    assert answer["permission"]["who"] == BO
    assert (answer["name"], answer["status"]) == ("Budget", "granted")
    assert desk.asked == [("google.drive.share", question() + AS_ANA)]
    assert question() == 'give bo@example.com access to "Budget" as writer and mail them "Have a look"'


def test_access_can_be_given_silently_and_for_a_time(google, drive, desk, question):
    file = drive.add("Budget")

    answer = desk("drive_share_file", file_id=file, email=BO, notify=False, expires="2027-01-31T10:00:00+01:00")

    assert drive.mails == []
    assert answer["permission"]["expires"] == "2027-01-31T09:00:00Z"
    assert question() == (
        'give bo@example.com access to "Budget" as reader until 2027-01-31T09:00:00Z without telling them'
    )
    assert "expirationTime" not in google.bodies("drive.permissions.create")[0]


def test_several_people_are_given_access_with_one_question(drive, desk, question):
    file = drive.add("Budget")

    answer = desk("drive_share_file", file_id=file, email=f"{BO}, {CY}", role="writer")

    assert drive.access(file) == {ANA: "owner", BO: "writer", CY: "writer"}
    assert [each["who"] for each in answer["permissions"]] == [BO, CY]
    assert question() == f'give {BO}, {CY} access to "Budget" as writer and notify them'
    assert desk.subjects == [f"{BO}, {CY}"]


def test_who_could_not_be_given_access_is_told(google, drive, desk):
    file = drive.add("Budget")
    google.fail("drive.permissions.create", status=403, reason="forbidden")

    answer = desk("drive_share_file", file_id=file, email=f"{BO},{CY}")

    assert [each["who"] for each in answer["permissions"]] == [CY]
    assert [each["email"] for each in answer["failed"]] == [BO]


def test_no_one_else_is_tried_after_an_unclear_failure(google, drive, desk):
    file = drive.add("Budget")
    people = ",".join(f"p{number}@example.com" for number in range(3))
    drive_create = "drive.permissions.create"
    google.fail(drive_create, status=503, times=1)

    error_type, _ = desk.error("drive_share_file", file_id=file, email=people)

    assert error_type == "unknown_outcome"
    assert google.called(drive_create) == [drive_create]


def test_sharing_and_downloads_are_closed_and_opened_for_those_who_have_access(drive, desk):
    file = drive.add("Budget")

    desk("drive_share_file", file_id=file, action="settings", editors_can_share=False, readers_can_download=False)
    assert drive.files[file].values["writersCanShare"] is False
    assert drive.files[file].values["copyRequiresWriterPermission"] is True
    desk("drive_share_file", file_id=file, action="settings", readers_can_download=True)

    assert drive.files[file].values["copyRequiresWriterPermission"] is False
    assert desk.asked == [
        (
            "google.drive.organize",
            'change the settings of "Budget": do not let editors share it, do not let readers download, print and copy '
            f"it{AS_ANA}",
        ),
        ("google.drive.share", f'change the settings of "Budget": let readers download, print and copy it{AS_ANA}'),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "settings"}, "needs one of them"),
            ({"action": "grant", "email": BO, "editors_can_share": True}, "go with action settings"),
            ({"action": "settings", "editors_can_share": True, "email": BO}, "leave out whom"),
            ({"action": "revoke", "email": f"{BO},{CY}"}, "takes one"),
            ({"email": f"{BO},{CY}", "role": "owner"}, "Only one"),
            ({"email": f"{BO},{BO}"}, "different addresses"),
            ({"email": f"{BO}, Bo"}, "must be an address"),
        ],
        3,
    ),
)
def test_sharing_that_cannot_be_is_refused(drive, desk, arguments, message):
    error = desk.error("drive_share_file", file_id=drive.add("Budget"), **arguments)

    assert (message in error[1], desk.asked) == (True, []), error


def test_access_that_could_not_be_limited_is_told_loudly(google, drive, desk):
    file = drive.add("Budget")
    google.fail("drive.permissions.update", status=403, reason="forbidden")

    error_type, message = desk.error("drive_share_file", file_id=file, email=BO, expires="2027-01-31")

    assert error_type == "permission_denied"
    assert "bo@example.com has access now, but WITHOUT an end" in message
    assert drive.access(file)[BO] == "reader"


def test_the_question_warns_of_everybody_and_of_losing_the_file(drive, desk, question):
    file = drive.add("Budget")

    desk("drive_share_file", file_id=file, type="anyone")
    assert question() == 'give ANYONE who has the link access to "Budget" as reader'
    desk("drive_share_file", file_id=file, type="anyone", discoverable=True)
    assert question() == 'give ANYONE on the internet access to "Budget" as reader'
    desk("drive_share_file", file_id=file, type="domain", domain="example.com", role="commenter")
    assert question() == 'give EVERYBODY at example.com access to "Budget" as commenter'
    assert drive.access(file) == {ANA: "owner", "anyone": "reader", "example.com": "commenter"}
    desk("drive_share_file", file_id=file, email=BO, role="owner")
    assert question() == 'make bo@example.com the OWNER of "Budget", who can then take away your own access'
    assert desk.subjects == ["anyone", "anyone", "example.com", "bo@example.com as owner"]
    assert drive.access(file) | {BO: "owner", ANA: "writer"} == drive.access(file)


def test_a_right_is_changed_and_its_end_too_without_changing_the_right(drive, desk, question):
    file = drive.add("Budget", shared_with={BO: "writer"})

    desk("drive_share_file", file_id=file, action="update", email="Bo@Example.com", expires="2027-01-31T00:00:00Z")
    assert drive.access(file)[BO] == "writer"
    assert question() == 'change the access of bo@example.com to "Budget" until 2027-01-31T00:00:00Z'
    answer = desk("drive_share_file", file_id=file, action="update", email=BO, role="reader", expires="never")
    assert (answer["permission"]["role"], answer["permission"].get("expires")) == ("reader", None)
    assert question() == 'change the access of bo@example.com to "Budget" from writer to reader, permanently'
    desk("drive_share_file", file_id=file, action="update", permission_id=answer["permission"]["id"], role="owner")
    assert "to OWNER, who can then take away your own access" in question()
    assert desk.subjects == ["bo@example.com", "bo@example.com", "bo@example.com as owner"]
    assert drive.access(file) == {ANA: "writer", BO: "owner"}


def test_access_is_taken_away_from_a_person_and_from_everybody(drive, desk, question):
    file = drive.add("Budget", shared_with={BO: "writer", "anyone": "reader"})

    answer = desk("drive_share_file", file_id=file, action="revoke", email=BO)
    assert (answer["permission"]["who"], answer["status"]) == (BO, "revoked")
    assert question() == 'take away the access of bo@example.com to "Budget"'
    desk("drive_share_file", file_id=file, action="revoke", type="anyone")
    assert question() == 'take away the access of anyone who has the link to "Budget"'
    assert drive.access(file) == {ANA: "owner"}


def test_access_that_no_one_has_cannot_be_changed(drive, desk):
    file = drive.add("Budget", shared_with={BO: "writer"})

    for arguments in ({"email": CY}, {"permission_id": "12345"}):
        error_type, message = desk.error("drive_share_file", file_id=file, action="revoke", **arguments)
        assert error_type == "not_found"
        assert "Access have: ana@example.com, bo@example.com." in message
    assert desk.asked == []


def test_inherited_access_names_the_folder_that_it_comes_from(drive, desk):
    team = drive.add_shared_drive("Team")
    folder = drive.add_folder("Plans", parent=team, shared_with={BO: "writer"})
    in_drive = drive.add("plan", parent=folder)
    own_folder = drive.add_folder("Own", shared_with={BO: "writer"})
    in_folder = drive.add("own plan", parent=own_folder)

    error_type, message = desk.error("drive_share_file", file_id=in_drive, action="revoke", email=BO)
    assert error_type == "permission_denied"
    assert f'through "Plans" ({folder})' in message
    assert (
        "through the folder it is in" in desk.error("drive_share_file", file_id=in_folder, action="revoke", email=BO)[1]
    )
    assert desk.asked == []


@pytest.mark.long
def test_changes_of_one_file_come_one_after_the_other(google, drive, desk):
    file = drive.add("Budget")
    people = [f"p{number}@example.com" for number in range(5)]

    results = desk.results([("drive_share_file", {"file_id": file, "email": each}) for each in people])

    assert all(result.is_success for result in results)
    assert set(people) < set(drive.access(file))


def test_sharing_of_which_no_one_knows_whether_it_happened_is_not_repeated(google, drive, desk):
    file = drive.add("Budget")
    google.fail("drive.permissions.create", status=500, is_after=True)

    error_type, message = desk.error("drive_share_file", file_id=file, email=BO)

    assert error_type == "unknown_outcome"
    assert "drive_get_file and include_permissions" in message
    assert len(drive.mails) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({}, "Give email, and not domain, for the type user"),
            ({"email": "Bo"}, "email must be an address"),
            ({"email": BO, "domain": "example.com"}, "Give email, and not domain"),
            ({"type": "domain"}, "Give domain, and not email"),
            ({"type": "domain", "domain": "example"}, "domain must be such as example.com"),
            ({"type": "anyone", "email": BO}, "goes without email and domain"),
            ({"type": "anyone", "message": "hi"}, "message and expires are for users and groups"),
            ({"type": "anyone", "expires": "2027-01-01"}, "message and expires are for users and groups"),
            ({"type": "anyone", "role": "organizer"}, "The role organizer is for users and groups"),
            ({"email": BO, "notify": False, "message": "hi"}, "message is sent with the notification"),
            ({"email": BO, "discoverable": True}, "discoverable is for domain and anyone"),
            ({"email": BO, "expires": "never"}, "expires never goes with action update"),
            ({"email": BO, "expires": "soon"}, "expires must be a time such as"),
            ({"email": BO, "role": "owner", "notify": False}, "Only a user can become the owner"),
            ({"type": "group", "email": BO, "role": "owner"}, "Only a user can become the owner"),
            ({"email": BO, "permission_id": "1"}, "permission_id goes with update and revoke"),
            ({"action": "update", "email": BO}, "Give role or expires"),
            ({"action": "update", "role": "reader"}, "Give email, and not domain"),
            ({"action": "revoke", "email": BO, "role": "reader"}, "go with grant"),
            ({"action": "update", "email": BO, "role": "reader", "message": "x"}, "go with grant"),
        ],
        8,
    ),
)
def test_sharing_that_cannot_be_is_refused_with_what_to_do(google, desk, arguments, message):
    error_type, said = desk.error("drive_share_file", file_id="file1", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


def test_roles_are_refused_where_they_do_not_exist(drive, desk):
    file = drive.add("mine")
    team = drive.add_shared_drive("Team")
    theirs = drive.add("theirs", owner=BO, shared_with={ANA: "reader", "anyone": "reader"})

    assert "only for shared drives" in desk.error("drive_share_file", file_id=file, email=BO, role="organizer")[1]
    assert "has no owner" in desk.error("drive_share_file", file_id=team, email=BO, role="owner")[1]
    assert desk.error("drive_share_file", file_id=theirs, email=CY)[0] == "permission_denied"
    assert desk.asked == []
    desk("drive_share_file", file_id=team, email=BO, role="organizer")
    assert drive.access(team)[BO] == "organizer"


def test_only_people_have_an_end_of_access(drive, desk):
    file = drive.add("mine", shared_with={"anyone": "reader"})

    arguments = {"file_id": file, "action": "update", "type": "anyone"}
    assert "expires is for users" in desk.error("drive_share_file", expires="2027-01-01", **arguments)[1]
    assert "Only a user can become" in desk.error("drive_share_file", role="owner", **arguments)[1]


# Managing


@pytest.mark.long
def test_a_file_is_renamed_starred_and_described(drive, desk, question):
    file = drive.add("old.txt")

    answer = desk("drive_manage_file", action="rename", file_ids=[file], name="new.txt")
    assert answer["results"][0] | {"id": file, "name": "new.txt", "status": "renamed"} == answer["results"][0]
    assert question() == 'rename "old.txt" to "new.txt"'
    desk("drive_manage_file", action="star", file_ids=[file])
    assert drive.files[file].starred_by == {ANA}
    desk("drive_manage_file", action="unstar", file_ids=[file])
    assert drive.files[file].starred_by == set()
    desk("drive_manage_file", action="set_description", file_ids=[file], description="mine")
    assert question() == 'describe "new.txt" as "mine"'
    assert drive.files[file].values["description"] == "mine"


@pytest.mark.long
def test_files_are_moved_in_one_batch_into_a_folder_and_out_again(google, drive, desk, question):
    target, other = drive.add_folder("Archive"), drive.add_folder("Other")
    files = [drive.add("a"), drive.add("b", parent=other), drive.add("c", parent=target)]

    answer = desk("drive_manage_file", action="move", file_ids=[*files, other], folder_id=target)

    assert {row["id"]: row["status"] for row in answer["results"]} == {
        files[0]: "moved",
        files[1]: "moved",
        other: "moved",
        files[2]: "already there",
    }
    assert drive.names_in(target) == ["Other", "a", "b", "c"]
    assert question() == (
        'move 4 files: "a", "b", "c", "Other", folders with all that is in them to the folder "Archive", to be seen by '
        "anyone who may see that folder"
    )
    assert google.called("batch") == ["batch", "batch"]
    desk("drive_manage_file", action="move", file_ids=files[:1], folder_id="root")
    assert "a" in drive.names_in(drive.root())
    assert question() == 'move "a" to My Drive'


def test_files_go_to_the_trash_and_come_back(drive, desk, question):
    folder = drive.add_folder("Old")
    file = drive.add("within", parent=folder)

    answer = desk("drive_manage_file", action="trash", file_ids=[folder, "file999999"])
    assert drive.is_trashed(file)
    assert [row["status"] for row in answer["results"]] == ["trashed"]
    assert [row["id"] for row in answer["failed"]] == ["file999999"]
    assert question() == 'move "Old", folders with all that is in them to the trash'
    desk("drive_manage_file", action="restore", file_ids=[folder])
    assert not drive.is_trashed(file)


def test_what_may_not_be_done_is_known_before_the_question(drive, desk):
    theirs = drive.add("theirs", owner=BO, shared_with={ANA: "writer"})
    team = drive.add_shared_drive("Team", {ANA: "writer"})
    in_drive = drive.add("plan", parent=team)

    error_type, message = desk.error("drive_manage_file", action="trash", file_ids=[theirs])
    assert (error_type, "only its owner can" in message) == ("permission_denied", True)
    assert "only managers" in desk.error("drive_manage_file", action="trash", file_ids=[in_drive])[1]
    assert desk.asked == []
    mine = drive.add("mine")
    answer = desk("drive_manage_file", action="trash", file_ids=[theirs, mine])
    assert ([row["id"] for row in answer["results"]], answer["failed"][0]["id"]) == ([mine], theirs)


@pytest.mark.long
def test_a_copy_lies_beside_its_original_or_where_it_is_wanted(drive, desk, question):
    folder, other = drive.add_folder("Here"), drive.add_folder("There")
    file = drive.add("plan", b"text", parent=folder)

    desk("drive_manage_file", action="copy", file_ids=[file], name="plan B")
    assert question() == 'copy "plan" as "plan B" to the folder it is in'
    desk("drive_manage_file", action="copy", file_ids=[file], folder_id=other)
    assert question() == 'copy "plan" to the folder "There"'
    assert (drive.names_in(folder), drive.names_in(other)) == (["plan", "plan B"], ["Copy of plan"])
    error_type, message = desk.error("drive_manage_file", action="copy", file_ids=[folder])
    assert (error_type, "Drive copies files alone" in message) == ("validation_error", True)


def test_a_shortcut_leads_to_a_file(drive, desk, question):
    folder = drive.add_folder("Here")
    file = drive.add("plan")

    answer = desk("drive_manage_file", action="create_shortcut", file_ids=[file], folder_id=folder)

    made = drive.files[answer["results"][0]["id"]].values
    assert (made["mimeType"], made["shortcutDetails"]["targetId"]) == (SHORTCUT, file)
    assert question() == 'create a shortcut to "plan" in the folder "Here"'


@pytest.mark.parametrize("action", ["copy", "create_shortcut"])
def test_what_is_made_anew_is_not_repeated(google, drive, desk, action):
    file = drive.add("plan")
    google.fail("drive.files.copy" if action == "copy" else "drive.files.create", status=502, is_after=True)

    error_type, message = desk.error("drive_manage_file", action=action, file_ids=[file])

    assert error_type == "unknown_outcome"
    assert "Look for it with drive_list_files" in message
    assert len(drive.names_in(drive.root())) == 2


@pytest.mark.long
def test_the_part_of_a_batch_that_failed_is_repeated(google, drive, desk):
    files = [drive.add(f"file {number}") for number in range(3)]
    google.fail("drive.files.update", status=403, reason="userRateLimitExceeded")

    answer = desk("drive_manage_file", action="trash", file_ids=files)

    assert len(answer["results"]) == 3
    assert len(google.called("drive.files.update")) == 4


def test_a_folder_cannot_go_into_itself(drive, desk):
    folder = drive.add_folder("Outer")
    inner = drive.add_folder("Inner", parent=folder)

    error_type, _ = desk.error("drive_manage_file", action="move", file_ids=[folder], folder_id=inner)

    assert error_type == "permission_denied"
    assert drive.names_in(drive.root()) == ["Outer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "rename", "file_ids": ["a"]}, "Give name"),
            ({"action": "rename", "file_ids": ["a", "b"], "name": "x"}, "rename takes one file"),
            ({"action": "rename", "file_ids": ["a"], "name": " "}, "cannot be without a name"),
            ({"action": "move", "file_ids": ["a"]}, "Give folder_id"),
            ({"action": "set_description", "file_ids": ["a"]}, "Give description"),
            ({"action": "trash", "file_ids": ["a"], "name": "x"}, "name goes with rename, copy, create_shortcut"),
            ({"action": "star", "file_ids": ["a"], "folder_id": "x"}, "folder_id goes with move"),
            ({"action": "move", "file_ids": ["a"], "folder_id": "x", "description": "y"}, "description goes with"),
            ({"action": "trash", "file_ids": ["a/b"]}, "file_ids must be an id"),
        ],
        5,
    ),
)
def test_managing_that_cannot_be_is_refused_with_what_to_do(google, desk, arguments, message):
    error_type, said = desk.error("drive_manage_file", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


def test_whoever_says_no_keeps_everything_as_it_is(google, drive, desk):
    file, folder = drive.add("plan", shared_with={BO: "reader"}), drive.add_folder("Here")
    desk.answer = PermissionAnswer.NO
    calls = [
        ("drive_share_file", {"file_id": file, "email": CY}),
        ("drive_share_file", {"file_id": file, "action": "update", "email": BO, "role": "writer"}),
        ("drive_share_file", {"file_id": file, "action": "revoke", "email": BO}),
        ("drive_manage_file", {"action": "rename", "file_ids": [file], "name": "x"}),
        ("drive_manage_file", {"action": "move", "file_ids": [file], "folder_id": folder}),
        ("drive_manage_file", {"action": "trash", "file_ids": [file]}),
        ("drive_manage_file", {"action": "copy", "file_ids": [file]}),
        ("drive_manage_file", {"action": "create_shortcut", "file_ids": [file]}),
    ]

    for tool, arguments in calls:
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert len(desk.asked) == len(calls)
    assert drive.access(file) == {ANA: "owner", BO: "reader"}
    assert (drive.names_in(drive.root()), drive.is_trashed(file)) == (["Here", "plan"], False)
    assert all(method.endswith((".get", ".list")) for method in google.called("drive."))
