"""Failures of Google: what is tried again, and what is said when nothing is left to try."""

import pytest
from oneclaw_google_workspace.failures import read_failure


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("²", None),
        ("-1", None),
        ("soon", None),
        ("9" * 5_000, 86_400.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 -2359", 86_400.0),
        ("Mon, 99 Foo 2001", None),
    ],
)
def test_how_long_google_asks_to_wait(text, seconds):
    assert read_failure(429, {"retry-after": text}, b"").retry_after_seconds == seconds


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"[]", b'{"error": "x"}', b'{"error": {"errors": 5, "details": [1]}}']
)
def test_a_failure_without_googles_words_is_one_all_the_same(content):
    failure = read_failure(503, {}, content)

    assert (failure.is_transient, failure.message, failure.reasons) == (True, "", frozenset())


@pytest.mark.long
def test_the_last_failure_after_an_unclear_one_is_unclear_where_a_new_call_would_do_it_again(google, desk):
    google.fail("drive.files.create", 503, is_after=True)
    google.fail("drive.files.create", 429, "rateLimitExceeded", retry_after="3600")

    made = desk("drive_create_folder", name="Once")

    assert google.services["drive"].files[made["id"]].values["name"] == "Once"


def test_a_folder_that_was_not_made_after_all_is_told_so(google, desk):
    google.fail("drive.files.create", 503, times=9)

    assert desk.error("drive_create_folder", name="Never") == (
        "service_unavailable",
        "Google broke off, and nothing was made. Try again.",
    )


@pytest.mark.long
def test_an_event_is_looked_for_when_all_tries_failed(google, desk):
    google.fail("calendar.events.insert", 503, is_after=True)
    google.fail("calendar.events.insert", 503, times=9)

    answer = desk("calendar_create_event", summary="Once", start="2026-03-31T12:00")

    assert answer["title"] == "Once"
    assert google.services["calendar"].titles() == ["Once"]


def test_an_event_that_was_not_created_is_told_so(google, desk):
    google.fail("calendar.events.insert", 503, times=9)

    assert desk.error("calendar_create_event", summary="Never", start="2026-03-31T12:00") == (
        "service_unavailable",
        "Google failed, and no event was created. Try again later.",
    )


@pytest.mark.long
def test_an_event_of_which_no_one_knows_is_told_as_such(google, desk):
    google.fail("calendar.events.insert", 503, times=9)
    google.fail("calendar.events.get", 403, "forbidden")

    error_type, message = desk.error("calendar_create_event", summary="Maybe", start="2026-03-31T12:00")

    assert error_type == "unknown_outcome"
    assert message.endswith("it may have been done or not. Look for it with calendar_list_events before trying again.")


@pytest.mark.long
def test_what_can_be_sent_again_by_a_model_is_only_unavailable(google, desk):
    ident = google.services["tasks"].add("Milk")
    google.fail("tasks.tasks.patch", 503, times=9)

    error_type, message = desk.error("tasks_update", task_id=ident, title="Bread")

    assert error_type == "service_unavailable"
    assert "may have been done" not in message
