"""Changes of "this and following" occurrences, and of calendars themselves."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.calendar.times import parted, shifted
from oneclaw_google_workspace.failures import GoogleError

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
ANA, BO, CY = "ana@example.com", "bo@example.com", "cy@elsewhere.org"
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def calendar(google):
    return google.services["calendar"]


def starts(desk, **arguments):
    events = desk("calendar_list_events", time_min="2026-03-01", time_max="2026-12-01", max_results=100, **arguments)
    return [(each["start"], each["title"]) for each in events["events"]]


# Changing


@pytest.mark.long
def test_an_occurrence_and_all_that_follow_are_changed(google, calendar, desk):
    series = calendar.add(
        "Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=5", "EXDATE:20260330T070000Z"],
        guests={ANA: "accepted", BO: "accepted"}, location="Room 1", visibility="private",
    )  # fmt: skip

    answer = desk(
        "calendar_update_event", event_id=f"{series}_20260329T070000Z", start="2026-03-29T10:00", location="Room 2",
        this_and_following=True,
    )  # fmt: skip

    assert starts(desk) == [
        ("2026-03-27T09:00:00+01:00", "Standup"),
        ("2026-03-28T09:00:00+01:00", "Standup"),
        ("2026-03-29T10:00:00+02:00", "Standup"),
        ("2026-03-31T10:00:00+02:00", "Standup"),
    ]
    old, new = calendar.event(series), calendar.event(answer["id"])
    assert old["recurrence"] == ["RRULE:FREQ=DAILY;UNTIL=20260329T065959Z"]
    assert new["recurrence"] == answer["recurrence"] == ["RRULE:FREQ=DAILY;COUNT=3", "EXDATE:20260330T080000Z"]
    assert (old["location"], new["location"], new["visibility"]) == ("Room 1", "Room 2", "private")
    assert {each["email"]: each["responseStatus"] for each in new["attendees"]} == {ANA: "accepted", BO: "accepted"}
    assert answer["earlier_series_id"] == series
    assert desk.asked == [
        (
            "google.calendar.send",
            'change location, start of this and all following occurrences of the series "Standup" (2026-03-29 09:00 '
            f"to 10:00 UTC+02:00); new time 2026-03-29 10:00 to 11:00 Europe/Berlin (guests: {BO}) and mail them all "
            f'about it; location "Room 2"{AS_ANA}',
        )
    ]


@pytest.mark.long
def test_the_first_occurrence_and_all_that_follow_are_the_series(google, calendar, desk):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=3"])

    desk("calendar_update_event", event_id=f"{series}_20260327T080000Z", summary="Daily", this_and_following=True)

    assert [title for _, title in starts(desk)] == ["Daily"] * 3
    assert calendar.titles() == ["Daily"]
    assert google.called("calendar.events.insert") == []


def test_whole_days_are_parted(calendar, desk):
    series = calendar.add("Cleaning", "2026-03-30", recurrence=["RRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20260420"])

    desk("calendar_update_event", event_id=f"{series}_20260413", start="2026-04-14", this_and_following=True)

    assert [start for start, _ in starts(desk)] == ["2026-03-30", "2026-04-06", "2026-04-14", "2026-04-21"]


@pytest.mark.long
def test_the_video_call_stays_the_same(calendar, desk):
    series = desk(
        "calendar_create_event",
        summary="Call",
        start="2026-03-27T09:00",
        recurrence=["FREQ=DAILY;COUNT=3"],
        add_meet=True,
    )

    answer = desk(
        "calendar_update_event", event_id=f"{series['id']}_20260328T080000Z", summary="Talk", this_and_following=True
    )

    assert answer["meet_link"] == series["meet_link"]


@pytest.mark.long
def test_a_moved_occurrence_parts_the_series_where_its_rule_has_it(calendar, desk):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=3"])
    occurrence = f"{series}_20260328T080000Z"
    desk("calendar_update_event", event_id=occurrence, start="2026-03-28T15:00")

    desk("calendar_update_event", event_id=occurrence, summary="Daily", this_and_following=True)

    assert calendar.event(series)["recurrence"] == ["RRULE:FREQ=DAILY;UNTIL=20260328T075959Z"]


def test_a_series_that_cannot_be_ended_is_left_as_it_was(google, calendar, desk):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=3"])
    google.fail("calendar.events.patch", status=412, reason="conditionNotMet", times=1)

    error_type, message = desk.error(
        "calendar_update_event", event_id=f"{series}_20260328T080000Z", summary="Daily", this_and_following=True
    )

    assert "nothing is changed" in message
    assert error_type != "unknown_outcome"
    assert [title for _, title in starts(desk)] == ["Standup"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"my_response": "accepted"}, "goes with neither my_response nor"),
        ({"summary": "x", "move_to_calendar_id": "y"}, "goes with neither my_response nor"),
        ({"start": "2026-03-29T09:00"}, "Give recurrence, too: the present one names days"),
        ({"start": "2026-03-28"}, "Give recurrence, too: whole days"),
    ],
)
def test_changes_that_cannot_follow_are_refused(calendar, desk, arguments, message):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=WEEKLY;BYDAY=FR,SA"])

    error_type, said = desk.error(
        "calendar_update_event", event_id=f"{series}_20260328T080000Z", this_and_following=True, **arguments
    )

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []


def test_only_occurrences_of_the_users_own_series_have_followers(calendar, desk):
    single = calendar.add("Lunch", "2026-03-27T12:00")
    foreign = calendar.add(
        "Talk", "2026-03-27T12:00", organizer=CY, guests={ANA: "accepted"}, recurrence=["RRULE:FREQ=DAILY;COUNT=3"]
    )

    for tool, extra in (("calendar_update_event", {"summary": "x"}), ("calendar_delete_event", {})):
        assert "with the id of one occurrence" in desk.error(tool, event_id=single, this_and_following=True, **extra)[1]
        assert (
            "Only the organizer"
            in desk.error(tool, event_id=f"{foreign}_20260328T110000Z", this_and_following=True, **extra)[1]
        )
    assert desk.asked == []


# Deleting


def test_an_occurrence_and_all_that_follow_are_deleted(calendar, desk):
    series = calendar.add(
        "Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY"], guests={ANA: "accepted", BO: "accepted"}
    )

    answer = desk("calendar_delete_event", event_id=f"{series}_20260329T070000Z", this_and_following=True)

    assert [start for start, _ in starts(desk)] == ["2026-03-27T09:00:00+01:00", "2026-03-28T09:00:00+01:00"]
    assert (answer["scope"], answer["series_id"], answer["notified"]) == ("this and following", series, "all")
    assert desk.asked == [
        (
            "google.calendar.delete",
            'delete this and ALL FOLLOWING occurrences of the series "Standup" (2026-03-29 09:00 to 10:00 UTC+02:00) '
            f"with {BO} and mail them all about it{AS_ANA}",
        )
    ]


def test_deleting_from_the_first_occurrence_on_deletes_the_series(calendar, desk):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=3"])

    answer = desk("calendar_delete_event", event_id=f"{series}_20260327T080000Z", this_and_following=True)

    assert (answer["scope"], calendar.titles()) == ("series", [])
    assert desk.asked[0][1].startswith("delete the WHOLE SERIES")


# Rules


def moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("lines", "before", "after"),
    some(
        [
            (
                ["RRULE:FREQ=WEEKLY;UNTIL=20261231T080000Z"],
                ["RRULE:FREQ=WEEKLY;UNTIL=20260410T065959Z"],
                ["RRULE:FREQ=WEEKLY;UNTIL=20261231T080000Z"],
            ),
            (["RRULE:FREQ=WEEKLY;COUNT=2"], ["RRULE:FREQ=WEEKLY;UNTIL=20260410T065959Z"], []),
            (["RRULE:FREQ=WEEKLY;UNTIL=20260404"], ["RRULE:FREQ=WEEKLY;UNTIL=20260404"], []),
            (
                ["RDATE;TZID=Europe/Berlin:20260401T090000,20260501T090000"],
                ["RDATE;TZID=Europe/Berlin:20260401T090000"],
                ["RDATE;TZID=Europe/Berlin:20260501T090000"],
            ),
            (["EXDATE;VALUE=DATE:20260410"], [], ["EXDATE;VALUE=DATE:20260410"]),
        ],
        3,
    ),
)
def test_the_lines_of_a_series_are_parted(lines, before, after):
    assert parted(lines, moment("2026-03-27T09:00"), moment("2026-04-10T09:00"), BERLIN) == (before, after)


@given(count=st.integers(1, 40), at=st.integers(0, 39), step=st.integers(1, 3), is_day=st.booleans())
def test_both_parts_together_are_the_series(count, at, step, is_day):
    from dateutil.rrule import rrulestr

    rule = f"RRULE:FREQ=DAILY;INTERVAL={step};COUNT={count}"
    first = date(2026, 3, 20) if is_day else moment("2026-03-20T09:00")
    wall = datetime(2026, 3, 20) if is_day else datetime(2026, 3, 20, 9)
    whole = list(rrulestr(rule, dtstart=wall))
    start = whole[min(at, count - 1)]
    split = start.date() if is_day else start.replace(tzinfo=BERLIN)

    _, after = parted([rule], first, split, BERLIN)

    assert list(rrulestr(after[0], dtstart=start)) == whole[min(at, count - 1) :]


def test_a_rule_moves_along_with_its_first_occurrence():
    old, new = moment("2026-04-10T09:00"), moment("2026-04-11T10:30")

    assert shifted(
        ["RRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20260501T070000Z", "EXDATE:20260417T070000Z"], old, new, BERLIN
    ) == [
        "RRULE:FREQ=WEEKLY;BYDAY=SA;UNTIL=20260502T083000Z",
        "EXDATE:20260418T083000Z",
    ]
    with pytest.raises(GoogleError, match="names days"):
        shifted(["RRULE:FREQ=MONTHLY;BYDAY=2FR"], old, new, BERLIN)


# Calendars


@pytest.mark.long
def test_a_calendar_is_created_renamed_and_deleted(calendar, desk):
    made = desk("calendar_manage_calendar", action="create", name="Garden", description="Beds", time_zone="Europe/Oslo")

    assert calendar.calendars[made["id"]].entry["summary"] == "Garden"
    assert made == {
        "status": "created", "id": made["id"], "name": "Garden", "description": "Beds", "time_zone": "Europe/Oslo"
    }  # fmt: skip
    desk("calendar_create_event", summary="Sow", start="2026-03-31", calendar_id=made["id"])

    changed = desk("calendar_manage_calendar", action="update", calendar_id=made["id"], name="Beds", description="")

    assert (changed["name"], "description" in changed) == ("Beds", False)
    assert desk("calendar_manage_calendar", action="delete", calendar_id=made["id"])["status"] == "deleted"
    assert made["id"] not in calendar.calendars
    assert [permission.rpartition(".")[2] for permission, _ in desk.asked] == ["write", "write", "write", "delete"]
    assert desk.asked[0][1] == (
        f'create a calendar: name "Garden", description "Beds", time_zone "Europe/Oslo"{AS_ANA}'
    )
    assert desk.asked[2][1] == f'change the calendar "Garden": name "Beds", no description{AS_ANA}'
    assert desk.asked[3][1] == f'delete the calendar "Beds" permanently, WITH ALL ITS EVENTS, for everybody{AS_ANA}'


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "create"}, "give its name"),
            ({"action": "create", "name": " "}, "cannot be without a name"),
            ({"action": "create", "name": "x", "time_zone": "Mars"}, "IANA"),
            ({"action": "update", "name": "x"}, "Give calendar_id"),
            ({"action": "update", "calendar_id": "primary"}, "Give what to change"),
            ({"action": "update", "calendar_id": "no@such", "name": "x"}, "has no calendar"),
            ({"action": "update", "calendar_id": "team@group", "name": "x"}, "Only its owner"),
            ({"action": "delete", "calendar_id": "primary"}, "cannot be deleted"),
            ({"action": "delete", "calendar_id": "primary", "name": "x"}, "give nothing but calendar_id"),
        ],
        5,
    ),
)
def test_calendars_that_cannot_be_changed_so_are_left_alone(calendar, desk, arguments, message):
    calendar.add_calendar("team@group", "Team", {ANA: "reader"})

    error_type, said = desk.error("calendar_manage_calendar", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []


def test_whether_a_calendar_was_created_is_never_guessed(google, calendar, desk):
    google.fail("calendar.calendars.insert", status=500, is_after=True)

    error_type, message = desk.error("calendar_manage_calendar", action="create", name="Garden")

    assert (error_type, "calendar_list_calendars" in message) == ("unknown_outcome", True)
    assert sum(each.entry["summary"] == "Garden" for each in calendar.calendars.values()) == 1
