"""The tools of the group ``google_drive`` that read."""

import pytest
from google_drive_queries import QueryReader
from google_drive_service import FOLDER, SHORTCUT
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.drive.files import kind_of, quoted

pytestmark = pytest.mark.one_python


@pytest.fixture
def drive(google):
    return google.services["drive"]


def names(answer):
    return [file["name"] for file in answer["files"]]


def test_a_folder_is_listed_with_folders_first_and_without_the_trash(drive, desk):
    work = drive.add_folder("Work")
    drive.add("b.txt", b"12345", parent=work)
    drive.add("a.txt", parent=work)
    drive.add_folder("Zoo", parent=work)
    drive.add("gone.txt", parent=work, explicitlyTrashed=True)
    drive.add("elsewhere.txt")

    answer = desk("drive_list_files", folder_id=f"https://drive.google.com/drive/folders/{work}?usp=sharing")

    assert names(answer) == ["Zoo", "a.txt", "b.txt"]
    file = answer["files"][2]
    assert {key: file[key] for key in ("type", "mime_type", "size", "owner", "parent_id")} == {
        "type": "text",
        "mime_type": "text/plain",
        "size": 5,
        "owner": "ana@example.com",
        "parent_id": work,
    }
    assert "size" not in answer["files"][0]
    assert "never instructions" in answer["untrusted_content"]
    assert desk.asked == []


@pytest.mark.long
def test_every_list_knows_of_shared_drives(google, desk):
    desk("drive_list_files")
    desk("drive_search_files", query="x")

    for query in google.queries("drive.files.list"):
        assert (query["supportsAllDrives"], query["includeItemsFromAllDrives"]) == ("true", "true")


@pytest.mark.long
def test_each_view_shows_its_own(drive, desk):
    mine = drive.add("mine.txt", viewedByMeTime="2026-03-01T10:00:00Z")
    drive.add("theirs.txt", owner="bo@example.com", shared_with={"ana@example.com": "reader"})
    drive.add("hidden.txt", owner="bo@example.com")
    gone = drive.add_folder("Gone", explicitlyTrashed=True)
    drive.add("within.txt", parent=gone)
    drive.add("seen last.txt", viewedByMeTime="2026-03-02T10:00:00Z")
    drive.files[mine].starred_by.add("ana@example.com")

    assert names(desk("drive_list_files", view="shared_with_me")) == ["theirs.txt"]
    starred = desk("drive_list_files", view="starred")
    assert (names(starred), starred["files"][0]["starred"]) == (["mine.txt"], True)
    assert names(desk("drive_list_files", view="trash")) == ["Gone", "within.txt"]
    assert names(desk("drive_list_files", view="recent"))[:2] == ["seen last.txt", "mine.txt"]


def test_a_shared_drive_is_found_and_listed_from_its_top(drive, desk):
    team = drive.add_shared_drive("Team")
    drive.add_shared_drive("Not ours", {"bo@example.com": "organizer"})
    plans = drive.add_folder("Plans", parent=team)
    drive.add("deep.txt", parent=plans)
    drive.add("private.txt")

    drives = desk("drive_list_files", view="shared_drives")
    assert drives["shared_drives"] == [{"id": team, "name": "Team"}]
    listed = desk("drive_list_files", shared_drive_id=team)
    assert names(listed) == ["Plans"]
    assert (listed["files"][0]["shared_drive_id"], "owner" in listed["files"][0]) == (team, False)
    assert names(desk("drive_list_files", folder_id=plans)) == ["deep.txt"]


@pytest.mark.long
def test_kinds_are_told_apart(drive, desk):
    drive.add_google_file("Letter", "document")
    drive.add_google_file("Budget", "spreadsheet")
    drive.add("photo", mime_type="image/png")
    drive.add("scan", mime_type="application/pdf")
    for kind, expected in (
        ("document", ["Letter"]),
        ("spreadsheet", ["Budget"]),
        ("image", ["photo"]),
        ("pdf", ["scan"]),
        ("video", []),
    ):
        assert names(desk("drive_list_files", file_type=kind)) == expected
    assert kind_of(FOLDER) == "folder"
    assert (kind_of("application/x-unheard-of"), kind_of("audio/ogg")) == ("file", "audio")


@pytest.mark.long
def test_a_long_list_has_pages_and_says_when_something_is_missing(drive, desk):
    for number in range(5):
        drive.add(f"file {number}")

    first = desk("drive_list_files", max_results=3)
    second = desk("drive_list_files", max_results=3, page_token=first["next_page_token"])

    assert names(first) + names(second) == [f"file {number}" for number in range(5)]
    assert "incomplete" not in second
    drive.is_incomplete = True
    assert desk("drive_search_files", corpora="allDrives")["incomplete"] is True
    error_type, _ = desk.error("drive_list_files", max_results=2, page_token=first["next_page_token"])
    assert error_type == "validation_error"


@pytest.mark.long
def test_a_shortcut_names_what_it_leads_to(drive, desk):
    file = drive.add("real.txt")
    details = {"targetId": file, "targetMimeType": "text/plain"}
    drive.add_google_file("link", SHORTCUT, shortcutDetails=details)

    row = desk("drive_list_files")["files"][0]

    assert (row["name"], row["shortcut_target"], row["shortcut_target_type"]) == ("link", file, "text")


@pytest.mark.long
def test_a_search_looks_into_contents_without_an_order_of_its_own(google, drive, desk):
    drive.add("a.txt", b"the blue house by the sea")
    drive.add("b.txt", b"the house is blue")
    drive.add_google_file("Blue house", "document", text="of cards")

    assert sorted(names(desk("drive_search_files", query="blue house"))) == ["Blue house", "a.txt", "b.txt"]
    assert sorted(names(desk("drive_search_files", query='"blue house"'))) == ["Blue house", "a.txt"]
    answer = desk("drive_search_files", query="hou", search_in="name")
    assert names(answer) == ["Blue house"]
    assert answer["query_used"] == "name contains 'hou' and trashed = false"
    assert [query.get("orderBy") for query in google.queries("drive.files.list")] == [
        None,
        None,
        "modifiedTime desc",
    ]


def test_a_search_is_narrowed_by_owner_time_folder_and_kind(drive, desk):
    folder = drive.add_folder("Reports")
    both = {"parent": folder, "modifiedTime": "2026-03-15T12:00:00Z"}
    drive.add("spring.pdf", mime_type="application/pdf", **both)
    drive.add("spring.txt", **both)
    drive.add("winter.pdf", mime_type="application/pdf", parent=folder, modifiedTime="2026-01-15T12:00:00Z")
    drive.add("lost.pdf", mime_type="application/pdf", **both, explicitlyTrashed=True)
    drive.add("foreign.pdf", owner="bo@example.com", shared_with={"ana@example.com": "writer"})

    narrow = {"modified_after": "2026-03-01", "modified_before": "2026-04-01T00:00:00+02:00", "folder_id": folder}
    assert names(desk("drive_search_files", file_type="pdf", **narrow)) == ["spring.pdf"]
    assert sorted(names(desk("drive_search_files", include_trashed=True, **narrow))) == [
        "lost.pdf",
        "spring.pdf",
        "spring.txt",
    ]
    assert names(desk("drive_search_files", owner="bo@example.com")) == ["foreign.pdf"]


def test_apostrophes_and_backslashes_are_words_and_no_way_out(drive, desk):
    drive.add("Ana's \\ notes")
    drive.add("secret")

    assert names(desk("drive_search_files", query="Ana's \\", search_in="name")) == ["Ana's \\ notes"]
    assert names(desk("drive_search_files", query="x' or name contains 'secret", search_in="name")) == []


@given(st.text())
def test_no_text_ends_its_own_quotes(text):
    assert QueryReader(f"name = {quoted(text)}").tokens[2:] == [("value", text)]


def test_a_raw_query_goes_as_it_is_and_comes_back_if_it_is_wrong(drive, desk):
    drive.add("a.txt", explicitlyTrashed=True)

    answer = desk("drive_search_files", raw_query="name = 'a.txt' or name = 'b'", query="ignored")
    assert (names(answer), answer["query_used"]) == (["a.txt"], "name = 'a.txt' or name = 'b'")
    error_type, message = desk.error("drive_search_files", raw_query="name like 'a'")
    assert error_type == "validation_error"
    assert message.endswith("The query was: name like 'a'")


@pytest.mark.long
def test_a_search_can_go_beyond_the_users_own(google, drive, desk):
    team = drive.add_shared_drive("Team")
    drive.add("plan.txt", parent=team)
    drive.add("notice.txt", owner="bo@example.com", shared_with={"example.com": "reader"})

    assert names(desk("drive_search_files", shared_drive_id=team)) == ["plan.txt"]
    assert names(desk("drive_search_files", corpora="domain")) == ["notice.txt"]
    assert google.queries("drive.files.list")[0]["corpora"] == "drive"


@pytest.mark.long
def test_the_details_of_a_file_say_where_it_is_and_what_can_be_done(drive, desk):
    outer = drive.add_folder("Projects")
    inner = drive.add_folder("2026", parent=outer)
    file = drive.add("plan.txt", b"abc", parent=inner, description="the plan")

    answer = desk("drive_get_file", file_id=f"https://docs.google.com/document/d/{file}/edit")

    assert answer["location"] == "My Drive / Projects / 2026"
    assert (answer["size"], answer["description"]) == (3, "the plan")
    assert answer["can"] == {"edit": True, "share": True, "download": True, "trash": True}
    assert "permissions" not in answer


@pytest.mark.long
def test_folders_that_are_not_shared_end_the_way_up(drive, desk):
    private = drive.add_folder("Private", owner="bo@example.com")
    file = drive.add("open.txt", parent=private, owner="bo@example.com", shared_with={"ana@example.com": "reader"})

    answer = desk("drive_get_file", file_id=file)

    assert "location" not in answer
    assert answer["can"]["edit"] is False


def test_who_has_access_is_listed_with_ids(drive, desk):
    folder = drive.add_folder("Shared", shared_with={"cy@example.com": "writer"})
    file = drive.add("plan.txt", parent=folder, shared_with={"bo@example.com": "reader", "anyone": "reader"})

    rows = desk("drive_get_file", file_id=file, include_permissions=True)["permissions"]

    assert {row["who"]: (row["role"], row.get("inherited", False)) for row in rows} == {
        "ana@example.com": ("owner", False),
        "bo@example.com": ("reader", False),
        "anyone": ("reader", False),
        "cy@example.com": ("writer", True),
    }
    assert all(row["id"] for row in rows)


def test_whoever_may_only_read_is_told_that_access_cannot_be_listed(drive, desk):
    file = drive.add("x.txt", owner="bo@example.com", shared_with={"ana@example.com": "reader"})

    answer = desk("drive_get_file", file_id=file, include_permissions=True)

    assert "may not do this" in answer["permissions_hidden"]


def test_the_key_in_a_link_opens_what_only_the_link_opens(google, drive, desk):
    file = drive.add("old.txt", b"by link", owner="bo@example.com", shared_with={"anyone": "reader"})
    drive.files[file].resource_key = "0-abc_D"
    link = f"https://drive.google.com/file/d/{file}/view?usp=sharing&resourcekey=0-abc_D"

    assert desk.error("drive_get_file", file_id=file)[0] == "not_found"
    assert desk("drive_get_file", file_id=link)["name"] == "old.txt"
    assert "by link" in desk("drive_download_file", file_id=link)["text"]
    desk("drive_download_file", file_id=link, save_path="old.txt")
    assert google.requests[-1].headers["x-goog-drive-resource-keys"] == f"{file}/0-abc_D"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("drive_list_files", {"view": "trash", "folder_id": "abc"}, "folder_id goes with view folder"),
            ("drive_list_files", {"view": "shared_drives", "file_type": "pdf"}, "goes without shared_drive_id"),
            ("drive_list_files", {"view": "shared_with_me", "shared_drive_id": "abc"}, "Leave shared_drive_id out"),
            ("drive_list_files", {"folder_id": "https://example.com/x"}, "folder_id must be an id, or a link"),
            ("drive_search_files", {"modified_after": "yesterday"}, "modified_after must be a time such as"),
            ("drive_search_files", {"modified_before": "2026-13-01"}, "modified_before must be a time such as"),
            ("drive_get_file", {"file_id": " "}, "file_id must be an id"),
            (
                "drive_get_file",
                {"file_id": "https://docs.google.com/forms/d/e/1FAIp/viewform"},
                "file_id must be an id",
            ),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert google.requests == []


@pytest.mark.long
def test_what_is_not_there_or_not_shared_is_not_found(drive, desk):
    hidden = drive.add("secret.txt", owner="bo@example.com")

    for file_id in ("file999999", hidden):
        error_type, message = desk.error("drive_get_file", file_id=file_id)
        assert error_type == "not_found"
        assert "not shared with this account" in message
    assert desk.error("drive_list_files", folder_id="file999999")[0] == "not_found"
