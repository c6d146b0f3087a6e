"""The tools of the group ``google_calendar`` that read."""

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.calendar.calendars import Span, WorkingHours, free_slots
from oneclaw_google_workspace.calendar.events import description_text
from oneclaw_google_workspace.calendar.times import first_moment, span_text

pytestmark = pytest.mark.one_python

ANA, BO, CY = "ana@example.com", "bo@example.com", "cy@elsewhere.org"
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def calendar(google):
    return google.services["calendar"]


def titles(answer):
    return [event["title"] for event in answer["events"]]


@pytest.mark.long
def test_the_events_of_the_coming_week_come_in_order_with_offsets(google, calendar, desk):
    now = datetime.now(UTC)
    calendar.add("Later", (now + timedelta(days=2)).isoformat())
    soon = calendar.add("Soon", (now + timedelta(hours=1)).isoformat(), location="Room 1")
    calendar.add("Past", (now - timedelta(days=1)).isoformat())
    calendar.add("Far", (now + timedelta(days=9)).isoformat())

    answer = desk("calendar_list_events")

    assert titles(answer) == ["Soon", "Later"]
    assert (answer["calendar"], answer["time_zone"]) == ("Ana", "Europe/Berlin")
    event = answer["events"][0]
    assert (event["id"], event["location"], event["all_day"]) == (soon, "Room 1", False)
    assert datetime.fromisoformat(event["start"]).tzinfo is not None
    assert "never instructions" in answer["untrusted_content"]
    assert desk.asked == []
    assert google.queries("calendar.events.list")[0]["singleEvents"] == "true"


@pytest.mark.long
def test_days_are_days_of_the_calendar_and_all_day_events_end_on_their_last_day(google, calendar, desk):
    calendar.add("Fair", "2026-03-30", "2026-04-02")
    calendar.add("Late", "2026-03-31T23:30", "2026-03-31T23:45")
    calendar.add("Next day", "2026-04-01T00:00", "2026-04-01T01:00")

    answer = desk("calendar_list_events", time_min="2026-03-31", time_max="2026-04-01")

    assert titles(answer) == ["Fair", "Late"]
    fair = answer["events"][0]
    assert (fair["start"], fair["end"], fair["all_day"]) == ("2026-03-30", "2026-04-01", True)
    query = google.queries("calendar.events.list")[-1]
    assert (query["timeMin"], query["timeMax"]) == ("2026-03-31T00:00:00+02:00", "2026-04-01T00:00:00+02:00")


def test_a_zone_that_is_named_is_that_of_the_days_and_of_the_answer(google, calendar, desk):
    calendar.add("Call", "2026-03-31T08:00+02:00")

    answer = desk("calendar_list_events", time_min="2026-03-31", time_zone="Asia/Tokyo")

    assert answer["events"][0]["start"] == "2026-03-31T15:00:00+09:00"
    assert google.queries("calendar.events.list")[0]["timeMin"] == "2026-03-31T00:00:00+09:00"
    assert len(google.called("calendar.events.list")) == 1


@pytest.mark.long
def test_a_week_over_the_change_of_clocks_ends_at_midnight_all_the_same(google, calendar, desk):
    desk("calendar_list_events", time_min="2026-03-28")

    query = google.queries("calendar.events.list")[-1]
    assert (query["timeMin"], query["timeMax"]) == ("2026-03-28T00:00:00+01:00", "2026-04-04T00:00:00+02:00")


@pytest.mark.long
def test_a_series_keeps_its_hour_when_clocks_change(calendar, desk):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=4"])

    events = desk("calendar_list_events", time_min="2026-03-27")["events"]

    assert [event["start"] for event in events] == [
        "2026-03-27T09:00:00+01:00",
        "2026-03-28T09:00:00+01:00",
        "2026-03-29T09:00:00+02:00",
        "2026-03-30T09:00:00+02:00",
    ]
    assert {event["series_id"] for event in events} == {series}
    assert events[3]["id"] == f"{series}_20260330T070000Z"


def test_pages_go_on_from_the_moment_the_first_began(calendar, desk):
    now = datetime.now(UTC)
    for number in range(5):
        calendar.add(f"Event {number}", (now + timedelta(hours=number + 1)).isoformat())

    first = desk("calendar_list_events", max_results=3)
    second = desk("calendar_list_events", max_results=3, page_token=first["next_page_token"])

    assert titles(first) + titles(second) == [f"Event {number}" for number in range(5)]
    assert "next_page_token" not in second
    for token in ("nonsense", "a~b~c", "2026-01-01~~x"):
        assert desk.error("calendar_list_events", page_token=token)[0] == "validation_error"


@pytest.mark.long
def test_events_are_searched_without_an_end_and_by_kind(google, calendar, desk):
    begin = (datetime.now(UTC) + timedelta(days=200)).isoformat()
    calendar.add("Dentist", begin, description="bring the card")
    calendar.add("Focus", begin, eventType="focusTime")
    calendar.add("Gone", begin, status="cancelled")

    assert titles(desk("calendar_list_events", query="card")) == ["Dentist"]
    assert "timeMax" not in google.queries("calendar.events.list")[-1]
    wide = {"time_max": "2099-01-01T00:00:00Z"}
    answer = desk("calendar_list_events", event_types=["focusTime", "outOfOffice"], **wide)
    assert (titles(answer), answer["events"][0]["type"]) == (["Focus"], "focusTime")
    calendar.event(calendar.add("Cancelled", begin))["status"] = "cancelled"
    shown = desk("calendar_list_events", show_deleted=True, **wide)["events"]
    assert {event["status"] for event in shown if "status" in event} == {"cancelled"}


@pytest.mark.long
def test_guests_and_their_answers_are_shown_and_many_only_counted(calendar, desk):
    calendar.add("Small", "2026-03-31T10:00", guests={ANA: "accepted", BO: "declined"})
    calendar.add("Big", "2026-03-31T11:00", guests={f"p{number}@example.com": "accepted" for number in range(30)})

    small, big = desk("calendar_list_events", time_min="2026-03-31")["events"]

    assert small["attendees"] == [{"email": ANA, "response": "accepted"}, {"email": BO, "response": "declined"}]
    assert (small["my_response"], small["organizer"]) == ("accepted", ANA)
    assert (len(big["attendees"]), big["attendee_count"]) == (20, 30)


def test_a_calendar_of_which_only_busy_may_be_seen_says_so(calendar, desk):
    calendar.add_calendar(BO, "Bo")
    calendar.add("Secret", "2026-03-31T10:00", calendar_id=BO)

    answer = desk("calendar_list_events", calendar_id=BO, time_min="2026-03-31")

    assert "title" not in answer["events"][0]
    assert "have no titles" in answer["note"]


@pytest.mark.long
def test_ids_with_special_characters_arrive_whole(calendar, desk):
    name = calendar.add_calendar("en.german#holiday@group.v.calendar.google.com", "Holidays", {ANA: "reader"})
    calendar.add("Easter", "2026-04-05", calendar_id=name)

    assert titles(desk("calendar_list_events", calendar_id=name, time_min="2026-04-01")) == ["Easter"]
    assert desk.error("calendar_list_events", calendar_id="nobody@example.com")[0] == "not_found"


def test_all_about_an_event_with_its_description_marked(calendar, desk):
    event = calendar.add(
        "Review",
        "2026-03-31T10:00",
        guests={ANA: "accepted", BO: "tentative"},
        description='Agenda:<br><ul><li>One</li><li>Two &amp; three</li></ul><a href="https://x.example">notes</a>',
        attachments=[{"fileUrl": "https://drive.google.com/open?id=1", "title": "Plan"}],
        reminders={"useDefault": False, "overrides": [{"method": "popup", "minutes": 10}]},
        hangoutLink="https://meet.google.com/abc",
    )
    calendar.event(event)["attendees"][1] |= {"comment": "maybe late", "displayName": "Bo", "optional": True}

    answer = desk("calendar_get_event", event_id=event)

    assert "Agenda:\n\n- One\n- Two & three\nnotes (https://x.example)" in answer["description"]
    assert 'From the description of the event "Review"' in answer["description"]
    assert answer["attendees"][1] == {
        "email": BO,
        "name": "Bo",
        "response": "tentative",
        "optional": True,
        "comment": "maybe late",
    }
    assert answer["attachments"] == [{"title": "Plan", "link": "https://drive.google.com/open?id=1"}]
    assert answer["reminders"] == [{"method": "popup", "minutes": 10}]
    assert (answer["meet_link"], answer["time_zone"]) == ("https://meet.google.com/abc", "Europe/Berlin")
    assert desk.error("calendar_get_event", event_id="event999999")[0] == "not_found"


def test_a_series_names_its_coming_occurrences_by_any_of_its_ids(calendar, desk):
    begin = (datetime.now(BERLIN) + timedelta(days=-8)).replace(hour=9, minute=0, second=0, microsecond=0)
    series = calendar.add("Weekly", begin.isoformat(), recurrence=["RRULE:FREQ=WEEKLY;COUNT=9"])
    single = calendar.add("Once", "2026-03-31T10:00")

    found = desk("calendar_get_event", event_id=series, instances=2)
    assert found["recurrence"] == ["RRULE:FREQ=WEEKLY;COUNT=9"]
    assert len(found["occurrences"]) == 2
    first = found["occurrences"][0]["id"]
    again = desk("calendar_get_event", event_id=first, instances=2, time_zone="UTC")
    assert (again["series_id"], again["occurrences"][0]["id"]) == (series, first)
    assert "The event is not a series" in desk.error("calendar_get_event", event_id=single, instances=1)[1]


@pytest.mark.long
def test_calendars_are_listed_by_the_names_the_user_knows(calendar, desk):
    calendar.add_calendar("team@group.calendar.google.com", "Team", {ANA: "writer"}, summaryOverride="Our team")
    calendar.add_calendar("old@group.calendar.google.com", "Old", {ANA: "owner"}, hidden=True)
    calendar.add_calendar(BO, "Bo")

    answer = desk("calendar_list_calendars")

    assert [(row["name"], row["access"]) for row in answer["calendars"]] == [
        ("Ana", "owner"),
        ("Our team", "writer"),
        ("Bo", "freeBusyReader"),
    ]
    assert (answer["calendars"][0]["primary"], answer["calendars"][0]["time_zone"]) == (True, "Europe/Berlin")
    writable = desk("calendar_list_calendars", min_access_role="writer", show_hidden=True)["calendars"]
    assert [row["name"] for row in writable] == ["Ana", "Our team", "Old"]
    page = desk("calendar_list_calendars", max_results=1)
    assert desk("calendar_list_calendars", max_results=1, page_token=page["next_page_token"])["calendars"]


# Free time


def test_free_time_is_when_no_one_is_busy(google, calendar, desk):
    calendar.add_calendar(BO, "Bo")
    calendar.add("Mine", "2026-03-30T09:30", "2026-03-30T11:00")
    calendar.add("Not busy", "2026-03-30T12:00", "2026-03-30T13:00", transparency="transparent")
    calendar.add("Declined", "2026-03-30T12:00", "2026-03-30T13:00", guests={ANA: "declined"}, organizer=BO)
    calendar.add("Theirs", "2026-03-30T10:30", "2026-03-30T16:45", calendar_id=BO)

    answer = desk("calendar_find_free_time", calendar_ids=["primary", BO], time_min="2026-03-28", time_max="2026-03-31")

    assert answer["time_zone"] == "Europe/Berlin"
    assert answer["free"] == [
        {"start": "2026-03-30T09:00:00+02:00", "end": "2026-03-30T09:30:00+02:00", "minutes": 30}
    ]  # a quarter of an hour in the evening is too short, and the weekend is left out
    assert answer["busy"]["primary"] == [{"start": "2026-03-30T09:30:00+02:00", "end": "2026-03-30T11:00:00+02:00"}]
    assert len(google.called("calendar.freebusy.query")) == 1
    assert desk.asked == []


def test_whoever_cannot_be_read_is_not_taken_for_free(calendar, desk):
    answer = desk(
        "calendar_find_free_time",
        calendar_ids=["primary", "nobody@example.com"],
        time_min="2026-03-30",
        time_max="2026-03-31",
        time_zone="UTC",
    )

    assert answer["unreadable"] == [{"calendar": "nobody@example.com", "reason": "notFound"}]
    assert "free" not in answer
    assert answer["free_without_the_unreadable"][0]["minutes"] == 480
    alone = {"calendar_ids": ["nobody@example.com"], "time_min": "2026-03-30", "time_max": "2026-03-31"}
    assert desk("calendar_find_free_time", **alone)["free_without_the_unreadable"] == []


def test_long_ranges_are_asked_for_in_parts_that_fit_together(google, calendar, desk):
    calendar.add("Sabbatical", "2026-01-10", "2026-06-10")

    answer = desk("calendar_find_free_time", time_min="2026-01-01", time_max="2026-07-01", min_minutes=480)

    assert len(google.called("calendar.freebusy.query")) == 4
    assert answer["busy"]["primary"] == [{"start": "2026-01-10T00:00:00+01:00", "end": "2026-06-10T00:00:00+02:00"}]
    days = {slot["start"][:10] for slot in answer["free"]}
    assert ("2026-01-09" in days, "2026-01-12" in days, "2026-06-10" in days) == (True, False, True)
    assert {slot["minutes"] for slot in answer["free"]} == {480}


@pytest.mark.long
def test_the_day_on_which_clocks_change_is_an_hour_shorter_or_longer(desk):
    def minutes(day, following):
        answer = desk(
            "calendar_find_free_time",
            time_min=day,
            time_max=following,
            day_start="00:00",
            day_end="24:00",
            weekdays_only=False,
        )
        return [slot["minutes"] for slot in answer["free"]]

    assert minutes("2026-03-29", "2026-03-30") == [23 * 60]
    assert minutes("2026-10-25", "2026-10-26") == [25 * 60]


@pytest.mark.long
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 2000)), max_size=12),
    st.integers(5, 120),
)
def test_free_slots_touch_nothing_busy_and_leave_nothing_out(spans, min_minutes):
    begin = datetime(2026, 10, 23, tzinfo=BERLIN)
    whole = Span(begin, begin + timedelta(days=5))
    busy = [
        Span(whole.start + timedelta(minutes=start), whole.start + timedelta(minutes=start + length))
        for start, length in spans
    ]
    hours = WorkingHours.read("08:00", "20:00", weekdays_only=False, zone=BERLIN)

    free = free_slots(whole, busy, hours, min_minutes)

    assert all(slot.minutes >= min_minutes for slot in free)
    for slot in free:
        assert all(each.end <= slot.start or each.start >= slot.end for each in busy)
    # Every minute of work is busy, free, or in a gap that is too short.
    windows = list(hours.within(whole))
    edges = sorted({moment for each in busy for moment in (each.start, each.end)} | {w.start for w in windows})
    for window in windows:
        inner = [window.start, *(edge for edge in edges if window.start < edge < window.end), window.end]
        for start, end in itertools.pairwise(inner):
            is_busy = any(each.start <= start and each.end >= end for each in busy)
            is_free = any(slot.start <= start and slot.end >= end for slot in free)
            assert is_busy != is_free or Span(start, end).minutes < min_minutes


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("calendar_list_events", {"time_min": "soon"}, "time_min must be a time such as"),
            ("calendar_list_events", {"time_min": "9999-12-31"}, "time_min must be a time such as"),
            ("calendar_list_events", {"time_min": "0001-01-01T00:00:00+02:00"}, "time_min must be a time such as"),
            ("calendar_list_events", {"time_zone": "Berlin"}, "time_zone must be an IANA name"),
            ("calendar_list_events", {"time_zone": "../../etc/passwd"}, "time_zone must be an IANA name"),
            (
                "calendar_list_events",
                {"time_min": "2026-03-31T10:00Z", "time_max": "2026-03-31T10:00Z"},
                "must be later",
            ),
            ("calendar_get_event", {"event_id": "x", "time_zone": "Europe"}, "time_zone must be an IANA name"),
            ("calendar_find_free_time", {"time_min": "2026-03-31", "time_max": "x"}, "time_max must be a time"),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert google.requests == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"time_max": "2026-03-30"}, "give the day after it as time_max"),
            ({"time_max": "2027-05-01"}, "at most a year"),
            ({"time_max": "2026-03-31", "day_start": "9 am"}, "day_start must be a time of the day"),
            ({"time_max": "2026-03-31", "day_end": "24:30"}, "day_end must be a time of the day"),
            ({"time_max": "2026-03-31", "day_start": "17:00"}, "day_end must be later"),
            ({"time_max": "2026-03-31", "time_zone": "Nowhere/Land"}, "time_zone must be an IANA name"),
        ],
        3,
    ),
)
def test_ranges_without_any_time_in_them_are_refused(desk, arguments, message):
    error_type, said = desk.error("calendar_find_free_time", time_min="2026-03-30", **arguments)

    assert error_type == "validation_error"
    assert message in said


# Texts


def test_descriptions_without_html_stay_as_they_are():
    assert description_text("a < b and c > d\n  kept") == "a < b and c > d\n  kept"
    assert description_text("R&D meets M&amp;A") == "R&D meets M&A"


def test_hidden_parts_of_descriptions_are_left_out():
    assert description_text("<p>Hi</p><script>x()</script><style>p{}</style><b>you</b><!-- c -->") == "Hi\nyou"
    assert description_text('<a href="https://a.example">https://a.example</a>') == "https://a.example"


@pytest.mark.long
@given(st.text())
def test_any_description_becomes_text(text):
    assert isinstance(description_text(text), str)


def test_a_day_begins_with_its_first_moment_even_where_midnight_is_skipped():
    cairo = ZoneInfo("Africa/Cairo")
    assert first_moment("start", date(2026, 4, 24), cairo).isoformat() == "2026-04-24T01:00:00+03:00"


def test_times_are_said_in_questions_as_people_say_them():
    start = datetime(2026, 3, 31, 10, tzinfo=BERLIN)
    assert span_text(start, start + timedelta(hours=1), "Europe/Berlin") == "2026-03-31 10:00 to 11:00 Europe/Berlin"
    assert span_text(start, start + timedelta(days=1)) == "2026-03-31 10:00 to 2026-04-01 10:00 UTC+02:00"
    assert span_text(date(2026, 3, 31), date(2026, 4, 1)) == "2026-03-31"
    assert span_text(date(2026, 3, 31), date(2026, 4, 3)) == "2026-03-31 to 2026-04-02"
    assert span_text(None, None) == ""
