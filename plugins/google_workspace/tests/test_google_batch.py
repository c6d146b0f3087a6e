"""Batches: each part has a separate outcome, whatever happens to the others."""

import pytest
from how_long import some
from oneclaw_google_workspace.transfers import read_parts


def deliver(google, count):
    return [google.services["gmail"].deliver("shop@example.org", f"Win {number}") for number in range(count)]


@pytest.mark.long
def test_what_was_done_before_a_batch_failed_is_told(google, desk):
    mails = deliver(google, 60)
    seen = []
    answer = google._batch

    def break_after_two(*arguments):
        seen.append(arguments)
        if len(seen) == 4:  # one to name the mails, two with 25 of them each
            google.fail("batch", 403, "forbidden", times=1)
        return answer(*arguments)

    google._batch = break_after_two
    value = desk("gmail_trash", message_ids=mails)

    assert (value["messages"], len(value["failed"])) == (50, 10)
    assert [each["id"] for each in value["failed"]] == mails[50:]
    assert {each for each in mails if "TRASH" in google.services["gmail"].labels_of(each)} == set(mails[:50])


def test_what_comes_after_a_failed_batch_is_not_tried(google, desk):
    mails = deliver(google, 80)
    seen = []
    answer = google._batch

    def break_the_second(*arguments):
        seen.append(arguments)
        if len(seen) == 3:
            google.fail("batch", 403, "forbidden", times=1)
        return answer(*arguments)

    google._batch = break_the_second
    value = desk("gmail_trash", message_ids=mails)

    assert (value["messages"], len(value["failed"]), len(seen)) == (25, 55, 3)
    assert value["failed"][-1]["reason"].startswith("Not tried, because of what came before: ")


@pytest.mark.long
def test_a_batch_of_which_nothing_worked_is_an_error(google, desk):
    mails = deliver(google, 2)
    google.fail("batch", 403, "forbidden", times=9)

    assert desk.error("gmail_trash", message_ids=mails)[0] == "permission_denied"


@pytest.mark.parametrize("content", some([b"<html>", b"{}", b""], 3))
def test_an_answer_that_is_no_batch_leaves_changes_unclear(google, desk, content):
    ident = google.services["tasks"].add("Milk")
    seen = []
    answer = google._batch

    def break_what_changes_something(*arguments):
        seen.append(arguments)
        if len(seen) == 2:  # the first only looks
            google.fail("batch", 200, content=content)
        return answer(*arguments)

    google._batch = break_what_changes_something
    error_type, message = desk.error("tasks_complete", task_ids=[ident])

    assert error_type == "unknown_outcome"
    assert message.startswith("The Google Tasks API's answer to a batch cannot be read, so it may have been done")


@pytest.mark.parametrize(
    "part",
    [
        b"Content-ID: <response-1>\r\n\r\nno status line",
        b"Content-ID: <response-1>\r\n\r\nHTTP/1.1 two hundred\r\n\r\n{}",
        b"Content-ID: <response-" + b"9" * 5_000 + b">\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}",
    ],
)
def test_broken_parts_are_refused(part):
    with pytest.raises(ValueError):
        read_parts("multipart/mixed; boundary=x", b"--x\r\nContent-Type: application/http\r\n" + part + b"\r\n--x--")


def test_parts_are_told_apart_by_their_ids_in_whatever_order():
    written = b"".join(
        b"--x\r\nContent-Type: application/http\r\nContent-ID: <response-%d>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{%d}\r\n"
        % (n, n)
        for n in (2, 0, 1)
    )

    found = read_parts("multipart/mixed; boundary=x", written + b"--x--")

    assert {number: part.content.strip() for number, part in found.items()} == {0: b"{0}", 1: b"{1}", 2: b"{2}"}
