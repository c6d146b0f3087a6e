"""What happens to a call when Google fails: one reading and one writing tool of each group, each in every weather.

What Google has certainly not done is sent again. What it may have done is sent again only where that can do no harm;
and whatever happens, it is done once at most, and no answer says that it was done when it was not, or the reverse.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from google_desk import open_home
from how_long import some
from oneclaw_google_workspace import client

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

Services = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A tool, and what fails of it.

    Attributes:
        tool: its name.
        method_id: what fails.
        prepare: makes what is read or written to, and gives the arguments.
        count: of a tool that writes, how many there are of what it makes.
        is_sent_again: whether that can do no harm when no one knows whether it was done.
        is_seen: whether the tool then finds out that the first try has done it.
    """

    tool: str
    method_id: str
    prepare: Callable[[Services], dict[str, Any]]
    count: Callable[[Services], int] = lambda services: 0
    is_sent_again: bool = True
    is_seen: bool = True


@dataclass(frozen=True)
class Outcome:
    """What came of a call.

    Attributes:
        error_type: ``None`` for a success.
        message: of the error.
        tries: how often the method was called.
        made: how many things there are more than before.
    """

    error_type: str | None
    message: str
    tries: int
    made: int


def reading(tool, method_id, prepare=lambda services: {}):
    return Case(tool, method_id, prepare)


def given(**arguments):
    return lambda services: arguments


def one_filter(services):
    services["gmail"].add_filter({"from": "bo@example.net"}, {"addLabelIds": ["STARRED"]})
    return {"sections": ["filters"]}


def new_document(services):
    return {"document_id": services["docs"].add("Plan", "Tea")}


def new_book(services):
    return {"spreadsheet_id": services["sheets"].add("Budget", Sales=[["Milk", 2]])}


def new_deck(services):
    return {"presentation_id": services["slides"].add("Plan", {"title": "Goals"})}


def new_form(services):
    return {"form_id": services["forms"].add("Survey")}


READING = [
    reading("gmail_search", "gmail.users.messages.list"),
    reading("gmail_settings_get", "gmail.users.settings.filters.list", one_filter),
    reading("drive_list_files", "drive.files.list"),
    reading("calendar_list_calendars", "calendar.calendarList.list"),
    reading("contacts_list", "people.people.connections.list"),
    reading("docs_read", "docs.documents.get", new_document),
    reading("sheets_get_info", "sheets.spreadsheets.get", new_book),
    reading("slides_read", "slides.presentations.get", new_deck),
    reading("forms_get", "forms.forms.get", new_form),
    reading("tasks_list", "tasks.tasks.list"),
]
WRITING = [
    Case(
        "gmail_send",
        "gmail.users.messages.send",
        given(to=["bo@example.net"], subject="Roof", body="Hi"),
        lambda services: len(services["gmail"].sent),
        is_sent_again=False,
    ),
    Case(
        "gmail_filter_manage",
        "gmail.users.settings.filters.create",
        # Each call another one, for Google has no two that are the same.
        lambda services: {"action": "create", "sender": f"{len(services['gmail'].filters)}@example.net", "star": True},
        lambda services: len(services["gmail"].filters),
        is_sent_again=False,
    ),
    Case(
        "drive_create_folder",
        "drive.files.create",
        given(name="New"),
        lambda services: services["drive"].names_in(services["drive"].root()).count("New"),
    ),
    Case(
        "calendar_create_event",
        "calendar.events.insert",
        given(summary="Lunch", start="2026-03-31T12:00:00Z"),
        lambda services: services["calendar"].titles().count("Lunch"),
    ),
    Case(
        "contacts_create",
        "people.people.createContact",
        given(given_name="Bo"),
        lambda services: len(services["people"].contacts),
        is_sent_again=False,
    ),
    Case(
        "docs_insert_text",
        "docs.documents.batchUpdate",
        lambda services: {**new_document(services), "text": "Milk", "position": "start"},
        lambda services: sum(services["docs"].plain(each).count("Milk") for each in services["docs"].documents),
        is_seen=False,
    ),
    Case(
        "sheets_append_rows",
        "sheets.spreadsheets.values.append",
        lambda services: {**new_book(services), "values": [["Bread", 3]]},
        lambda services: sum(len(services["sheets"].shown(each, "Sales")) - 1 for each in services["sheets"].books),
        is_sent_again=False,
    ),
    Case(
        "slides_add_slide",
        "slides.presentations.batchUpdate",
        lambda services: {**new_deck(services), "title": "Means"},
        lambda services: sum(len(each.slides) - 1 for each in services["slides"].presentations.values()),
    ),
    Case(
        "forms_add_questions",
        "forms.forms.batchUpdate",
        lambda services: {**new_form(services), "questions": [{"title": "Who", "type": "short_text"}]},
        lambda services: sum(len(services["forms"].items(each)) for each in services["forms"].forms),
    ),
    Case(
        "tasks_create",
        "tasks.tasks.insert",
        given(title="Milk"),
        lambda services: len(services["tasks"].titles()),
        is_sent_again=False,
    ),
]


def named(cases, step=1):
    return pytest.mark.parametrize("case", some(cases, step), ids=lambda case: case.tool)


@pytest.fixture
def attempts(google, home):
    """Calls the tool of a case once for each fault, by the names of the faults; gives what came of it."""

    async def agree(request):
        return PermissionAnswer.ONCE

    async def once(claw, case, fault):
        arguments = case.prepare(google.services)
        tries, made = len(google.called(case.method_id)), case.count(google.services)
        google.fail(case.method_id, **fault)
        result = (await claw.call_tool(case.tool, arguments)).result
        google.heal()
        tries, made = len(google.called(case.method_id)) - tries, case.count(google.services) - made
        return Outcome(result.error_type, result.error_message or "", tries, made)

    async def run(case, faults):
        async with open_home(home, ask=agree) as claw:
            return {name: await once(claw, case, fault) for name, fault in faults.items()}

    return lambda case, faults: asyncio.run(run(case, faults))


# What was certainly not done

PASSING = {
    "the token has ended": {"status": 401, "reason": "authError"},
    "too fast, in the old words": {"status": 403, "reason": "userRateLimitExceeded"},
    "too fast": {"status": 429, "reason": "RATE_LIMIT_EXCEEDED", "retry_after": "0"},
    "too fast, without a time": {"status": 429, "reason": "rateLimitExceeded", "retry_after": None},
}


@pytest.mark.long
@named([*READING, *WRITING], 4)
def test_a_refusal_that_passes_is_not_noticed(google, attempts, case):
    found = attempts(case, PASSING)

    assert found == dict.fromkeys(PASSING, Outcome(None, "", 2, int(case in WRITING)))
    assert google.oauth.refreshes == 2


LOGIN = "oneclaw google login --account work"
LASTING = {
    # How it is refused: the error that is told, what its message says, and how often it is tried.
    (401, "authError"): ("not_available", LOGIN, 2),
    (403, "forbidden"): ("permission_denied", "work (ana@example.com) may not do this", 1),
    (403, "SERVICE_DISABLED"): ("not_available", "https://console.cloud.google.com/apis/", 1),
    (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"): ("not_available", LOGIN, 1),
    (403, "dailyLimitExceeded"): ("quota_exceeded", "used up", 1),
    (429, "rateLimitExceeded"): ("rate_limited", "Try again in", 5),
}


@named([*READING, *WRITING], 9)
def test_a_refusal_that_lasts_is_told_with_what_to_do(attempts, case):
    faults = {how: {"status": how[0], "reason": how[1], "times": 99} for how in LASTING}
    for_long = {"status": 429, "reason": "rateLimitExceeded", "retry_after": "3600", "times": 99}

    found = attempts(case, {**faults, "for long": for_long})

    expected = {**LASTING, "for long": ("rate_limited", "Try again in 3600 s", 1)}
    for how, (error_type, says, tries) in expected.items():
        assert (found[how].error_type, found[how].tries, found[how].made) == (error_type, tries, 0), how
        assert says in found[how].message


# What may have been done

UNCLEAR = {
    "fails": {"status": 500, "reason": "backendError"},
    "fails as a gateway does": {"status": 502, "content": b"<html>Bad Gateway</html>"},
    "hangs up": {"status": 0},
}
BROKEN_OFF = {"breaks off": {"cut_at": 3}}


@pytest.mark.long
@named(READING, 5)
def test_reading_is_tried_again(attempts, case):
    faults = UNCLEAR | BROKEN_OFF

    assert attempts(case, faults) == dict.fromkeys(faults, Outcome(None, "", 2, 0))


@named(READING, 9)
def test_reading_is_given_up_in_the_end(attempts, case):
    found = attempts(case, {name: fault | {"times": 99} for name, fault in UNCLEAR.items()})

    expected = dict.fromkeys(UNCLEAR, ("service_unavailable", 5))
    assert {name: (each.error_type, each.tries) for name, each in found.items()} == expected


@named(READING, 9)
def test_an_answer_that_is_none_is_told(attempts, case):
    page = {"status": 200, "content": b"<html>Sign in to the hotel's network</html>"}

    (found,) = attempts(case, {"a page": page}).values()

    assert (found.error_type, found.tries) == ("execution_error", 1)
    assert found.message == "Google's answer cannot be read (status 200)."


@named(WRITING, 9)
def test_what_was_not_done_is_done_where_that_is_safe_and_otherwise_told(attempts, case):
    found = attempts(case, UNCLEAR)

    for name, outcome in found.items():
        check_told(case, outcome, is_clear=case.is_sent_again, name=name)
        assert outcome.made == case.is_sent_again, name


@named(WRITING, 9)
def test_what_was_done_is_never_done_twice(attempts, case):
    found = attempts(case, {name: fault | {"is_after": True} for name, fault in UNCLEAR.items()} | BROKEN_OFF)

    for name, outcome in found.items():
        check_told(case, outcome, is_clear=case.is_sent_again and case.is_seen, name=name)
        assert outcome.made == 1, name


def check_told(case, outcome, *, is_clear, name):
    assert outcome.error_type == (None if is_clear else "unknown_outcome"), f"{name}: {outcome.message}"
    assert outcome.tries == (2 if case.is_sent_again else 1), name
    if not is_clear:
        assert "may have been" in outcome.message
        assert "before trying again" in outcome.message


# Silence


@pytest.fixture
def silence(monkeypatch):
    """A fault: no answer for as long as anybody waits."""
    monkeypatch.setattr(client, "SILENCE_SECONDS", 0.15)
    ended = threading.Event()
    yield {"status": 503, "delay": ended}
    ended.set()


@pytest.mark.long
@named(READING, 5)
def test_silence_is_no_answer_to_reading(silence, attempts, case):
    assert attempts(case, {"silent": silence}) == {"silent": Outcome(None, "", 2, 0)}


@named(WRITING, 2)
def test_silence_after_a_write_is_unclear(silence, attempts, case):
    (outcome,) = attempts(case, {"silent": silence}).values()

    check_told(case, outcome, is_clear=case.is_sent_again, name="silent")
    assert outcome.made == case.is_sent_again


@pytest.fixture
def short_of_time(desk, monkeypatch):
    """A fault: no answer until the time of the call is up."""
    desk("calendar_list_events")  # with a new access token, which takes a while
    monkeypatch.setattr(client, "MARGIN_SECONDS", 115)  # of 120 s: a busy machine needs seconds to get so far
    ended = threading.Event()
    yield {"status": 503, "delay": ended}
    ended.set()


@pytest.mark.parametrize(("number", "look"), some([(-1, "tasks_list"), (3, "calendar_list_events")], 2))
def test_a_call_whose_time_is_up_after_a_write_says_where_to_look(short_of_time, attempts, number, look):
    (outcome,) = attempts(WRITING[number], {"slow": short_of_time}).values()

    assert (outcome.error_type, outcome.tries) == ("unknown_outcome", 1)
    assert outcome.message.startswith("The time of this call was up before Google had answered, so it may have been")
    assert look in outcome.message


@pytest.mark.long
def test_a_call_whose_time_is_up_before_a_write_has_changed_nothing(short_of_time, attempts):
    before = Case("tasks_complete", "tasks.tasks.get", lambda services: {"task_ids": [services["tasks"].add("Milk")]})

    (outcome,) = attempts(before, {"slow": short_of_time}).values()

    assert outcome.error_type == "timeout"
    assert outcome.message == "Google has not answered in time, and nothing was changed. Try again later."
