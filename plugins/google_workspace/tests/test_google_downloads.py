"""Downloads: to whom the access token goes, and what is put together from pieces."""

import pytest
from oneclaw_google_workspace import transfers
from oneclaw_google_workspace.failures import GoogleError

pytestmark = pytest.mark.lowest_versions


@pytest.mark.parametrize(
    ("link", "is_wanted"),
    [
        ("https://www.googleapis.com/drive/v3/files/x?alt=media", True),
        ("https://docs.google.com/feeds/download?id=x", True),
        ("https://lh7-us.googleusercontent.com/thumbnail", False),
        ("https://www.googleapis.com.example.net/x", False),
        ("https://evilgoogleapis.com/x", False),
        ("https://docs.google.com@example.net/x", False),
        ("https://example.net/?docs.google.com", False),
        ("https://example.net#@docs.google.com", False),
    ],
)
def test_the_access_token_goes_to_googles_own_hosts_only(link, is_wanted):
    assert transfers._wants_token(link) is is_wanted


@pytest.mark.parametrize("link", ["http://docs.google.com/x", "file:///etc/passwd", "//docs.google.com/x", ""])
def test_a_link_that_is_not_secure_is_not_followed(link):
    with pytest.raises(GoogleError, match="not secure"):
        transfers._wants_token(link)


def test_another_part_than_was_asked_for_is_not_taken_for_the_rest(google, desk):
    drive = google.services["drive"]
    ident = drive.add("pic.png", b"0123456789" * 300_000, mime_type="image/png")
    google.fail("drive.files.get", times=2, cut_at=2_000_000)  # the first answer, about the file, is shorter
    send = google._send

    def send_another_part(connection, answer):
        if answer.status == 206:
            answer.headers["Content-Range"] = "bytes 5-2999999/3000000"
        send(connection, answer)

    google._send = send_another_part

    error_type, message = desk.error("drive_download_file", file_id=ident, save_path="pics/")

    assert error_type == "service_unavailable"
    assert "another part than it was asked for" in message
    assert [*(desk.home.workspace / "pics").iterdir()] == []
