"""The tools of the group ``google_calendar`` that write."""

import pytest
from how_long import some

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
ANA, BO, CY, DI = "ana@example.com", "bo@example.com", "cy@elsewhere.org", "di@example.com"
TEAM = "team@group.calendar.google.com"


@pytest.fixture
def calendar(google):
    return google.services["calendar"]


@pytest.fixture
def question(desk):
    """What the user was asked last."""
    return lambda: desk.asked[-1][1].removesuffix(AS_ANA)


def when(event):
    return tuple(event[name].get("dateTime") or event[name].get("date") for name in ("start", "end"))


# Creating


def test_an_event_takes_an_hour_in_the_zone_of_the_calendar(google, calendar, desk, question):
    answer = desk("calendar_create_event", summary="Lunch", start="2026-03-31T12:00", location="Corner")

    event = calendar.event(answer["id"])
    assert when(event) == ("2026-03-31T12:00:00+02:00", "2026-03-31T13:00:00+02:00")
    assert event["start"]["timeZone"] == "Europe/Berlin"
    assert (answer["title"], answer["start"], answer["all_day"]) == ("Lunch", "2026-03-31T12:00:00+02:00", False)
    assert "invited" not in answer
    assert desk.asked == [("google.calendar.write", question() + AS_ANA)]
    assert question() == 'create the event "Lunch" (2026-03-31 12:00 to 13:00 Europe/Berlin), location "Corner"'


def test_whole_days_include_the_last(google, calendar, desk, question):
    fair = desk("calendar_create_event", summary="Fair", start="2026-03-30", end="2026-04-01")
    day = desk("calendar_create_event", summary="Holiday", start="2026-04-06")

    assert when(calendar.event(fair["id"])) == ("2026-03-30", "2026-04-02")
    assert (fair["start"], fair["end"], fair["all_day"]) == ("2026-03-30", "2026-04-01", True)
    assert when(calendar.event(day["id"])) == ("2026-04-06", "2026-04-07")
    assert question() == 'create the event "Holiday" (2026-04-06)'
    assert "calendar.events.list" not in google.called()  # no zone is needed


@pytest.mark.long
def test_a_named_zone_and_an_offset_are_kept(google, calendar, desk):
    there = desk("calendar_create_event", summary="A", start="2026-03-31T09:00", time_zone="America/New_York")
    given = desk("calendar_create_event", summary="B", start="2026-03-31T09:00:00Z", end="2026-03-31T10:30")

    assert when(calendar.event(there["id"]))[0] == "2026-03-31T09:00:00-04:00"
    assert when(calendar.event(given["id"])) == ("2026-03-31T09:00:00+00:00", "2026-03-31T10:30:00+00:00")
    assert "timeZone" not in calendar.event(given["id"])["start"]
    assert "calendar.events.list" not in google.called()


@pytest.mark.long
def test_an_hour_is_an_hour_over_the_change_of_clocks(calendar, desk):
    spring = desk("calendar_create_event", summary="Night", start="2026-03-29T01:30")
    autumn = desk("calendar_create_event", summary="Night", start="2026-10-25T02:30")

    assert when(calendar.event(spring["id"])) == ("2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00")
    assert when(calendar.event(autumn["id"])) == ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")
    error_type, message = desk.error("calendar_create_event", summary="Never", start="2026-03-29T02:30")
    assert error_type == "validation_error"
    assert message == "start: clocks in Europe/Berlin skip 02:30 on 2026-03-29. Give another time."


def test_guests_are_named_in_the_question_and_mailed(google, calendar, desk, question):
    answer = desk(
        "calendar_create_event",
        summary="Review",
        start="2026-03-31T12:00",
        attendees=[BO, CY, "BO@example.com"],
        optional_attendees=[DI, CY],
        guests_can_modify=True,
        guests_can_invite=False,
    )

    event = calendar.event(answer["id"])
    assert [(each["email"], each.get("optional", False)) for each in event["attendees"]] == [
        (BO, False),
        (CY, False),
        (DI, True),
    ]
    assert (event["guestsCanModify"], event["guestsCanInviteOthers"]) == (True, False)
    assert calendar.mails == [("Review", each) for each in (BO, CY, DI)]
    assert question().endswith(
        f", invite {BO}, {CY}, {DI} and mail them all about it, guests can change it, guests cannot invite others"
    )
    assert answer["invited"] == "all"
    assert google.queries("calendar.events.insert")[0]["sendUpdates"] == "all"


@pytest.mark.long
def test_mails_can_be_kept_to_others_or_to_oneself(calendar, desk, question):
    arguments = {"summary": "Review", "start": "2026-03-31T12:00", "attendees": [BO, CY]}

    desk("calendar_create_event", **arguments, send_updates="externalOnly")
    assert calendar.mails == [("Review", CY)]
    assert question().endswith("and mail those of other organisations about it")
    desk("calendar_create_event", **arguments, send_updates="none")
    assert calendar.mails == [("Review", CY)]
    assert question().endswith("without mailing anybody about it")


@pytest.mark.long
def test_a_series_keeps_a_zone(calendar, desk, question):
    rule = "RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=8"

    answer = desk("calendar_create_event", summary="Standup", start="2026-03-30T09:00:00+02:00", recurrence=[rule[6:]])

    event = calendar.event(answer["id"])
    assert (event["recurrence"], event["start"]["timeZone"]) == ([rule], "Europe/Berlin")
    assert f'again and again ("{rule}")' in question()


def test_a_video_call_is_there_even_if_it_takes_a_moment(google, calendar, desk):
    arguments = {"summary": "Call", "start": "2026-03-31T12:00", "add_meet": True}

    assert desk("calendar_create_event", **arguments)["meet_link"].startswith("https://meet.google.com/")
    calendar.is_meet_slow = True
    first = desk("calendar_create_event", **arguments)
    assert "calendar.events.get" in google.called()
    assert first["meet_link"].startswith("https://meet.google.com/")
    ids = [body["conferenceData"]["createRequest"]["requestId"] for body in google.bodies("calendar.events.insert")]
    assert len(set(ids)) == 2


@pytest.mark.long
def test_looks_reminders_and_attachments(google, calendar, desk):
    answer = desk(
        "calendar_create_event",
        summary="Talk",
        start="2026-03-31T12:00",
        description="<b>Bring</b> slides",
        reminders=[{"minutes": 30}, {"minutes": 60, "method": "email"}],
        show_as="free",
        visibility="private",
        color_id="11",
        attachments=["https://drive.google.com/open?id=1"],
    )
    quiet = desk("calendar_create_event", summary="Quiet", start="2026-03-31T12:00", reminders=[])

    event = calendar.event(answer["id"])
    assert event["reminders"] == {
        "useDefault": False,
        "overrides": [{"method": "popup", "minutes": 30}, {"method": "email", "minutes": 60}],
    }
    assert (event["transparency"], event["visibility"], event["colorId"]) == ("transparent", "private", "11")
    assert event["attachments"][0]["fileUrl"] == "https://drive.google.com/open?id=1"
    assert event["description"] == "<b>Bring</b> slides"
    assert calendar.event(quiet["id"])["reminders"] == {"useDefault": False, "overrides": []}
    assert google.queries("calendar.events.insert")[0]["supportsAttachments"] == "true"


def test_focus_time_declines_invitations(calendar, desk, question):
    answer = desk(
        "calendar_create_event",
        summary="Focus",
        start="2026-03-31T12:00",
        event_type="focusTime",
        auto_decline="declineAllConflictingInvitations",
        decline_message="Later",
    )

    properties = calendar.event(answer["id"])["focusTimeProperties"]
    assert properties == {"autoDeclineMode": "declineAllConflictingInvitations", "declineMessage": "Later"}
    assert answer["type"] == "focusTime"
    assert "which declines invitations (declineAllConflictingInvitations)" in question()


@pytest.mark.long
def test_an_event_whose_creation_was_not_confirmed_is_there_once(google, calendar, desk):
    google.fail("calendar.events.insert", status=0, is_after=True)

    answer = desk("calendar_create_event", summary="Once", start="2026-03-31T12:00", attendees=[BO])

    assert calendar.titles() == ["Once"]
    assert answer["title"] == "Once"
    assert google.called("calendar.events.insert") == ["calendar.events.insert"] * 2
    assert calendar.mails == [("Once", BO)]


@pytest.mark.long
def test_an_event_in_another_calendar_names_it(calendar, desk, question):
    calendar.add_calendar(TEAM, "Team", {ANA: "writer"}, zone="America/New_York")
    calendar.add_calendar(BO, "Bo", {ANA: "reader"})

    desk("calendar_create_event", summary="All hands", start="2026-03-31T12:00", calendar_id=TEAM)
    assert question().endswith(f'12:00 to 13:00 America/New_York) in the calendar "{TEAM}"')
    error_type, _ = desk.error("calendar_create_event", summary="x", start="2026-03-31T12:00", calendar_id=BO)
    assert error_type == "permission_denied"


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"start": "noon"}, "start must be a time such as"),
            ({"start": "2026-03-31", "end": "2026-03-31T12:00"}, "must both be days, or both be times"),
            ({"start": "2026-03-31", "end": "2026-03-30"}, "end, the last day, must not be before start"),
            ({"start": "2026-03-31T12:00Z", "end": "2026-03-31T12:00Z"}, "end must be later than start"),
            ({"start": "2026-03-31T12:00", "time_zone": "Mars/Base"}, "time_zone must be an IANA name"),
            ({"start": "2026-03-31", "time_zone": "Mars/Base"}, "time_zone must be an IANA name"),
            ({"start": "2026-03-31", "attendees": ["Bo"]}, "attendees must be addresses"),
            ({"start": "2026-03-31", "optional_attendees": ["a@b, c@d"]}, "optional_attendees must be addresses"),
            ({"start": "2026-03-31", "recurrence": ["DTSTART:20260331"]}, "recurrence must be lines such as RRULE"),
            ({"start": "2026-03-31", "recurrence": ["every day"]}, "recurrence must be lines such as RRULE"),
            ({"start": "2026-03-31", "color_id": "12"}, "color_id must be 1 to 11"),
            ({"start": "2026-03-31", "attachments": ["file.txt"]}, "attachments must be links"),
            ({"start": "2026-03-31", "auto_decline": "declineNone"}, "go with event_type focusTime"),
            ({"start": "2026-03-31", "event_type": "focusTime"}, "needs times, not days"),
            ({"start": "2026-03-31", "event_type": "outOfOffice", "attendees": [BO]}, "neither guests nor a Meet link"),
            ({"start": "2026-03-31", "event_type": "outOfOffice", "calendar_id": TEAM}, "in the primary calendar"),
        ],
        8,
    ),
)
def test_events_that_cannot_be_are_refused_with_what_to_do(google, desk, arguments, message):
    error_type, said = desk.error("calendar_create_event", summary="x", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


# Changing


@pytest.mark.long
def test_a_new_start_keeps_the_length_and_the_zone(calendar, desk, question):
    event = calendar.add("Lunch", "2026-03-27T12:00", "2026-03-27T13:30")

    answer = desk("calendar_update_event", event_id=event, start="2026-03-30T12:00", summary="Long lunch")

    changed = calendar.event(event)
    assert when(changed) == ("2026-03-30T12:00:00+02:00", "2026-03-30T13:30:00+02:00")
    assert (changed["summary"], changed["start"]["timeZone"]) == ("Long lunch", "Europe/Berlin")
    assert answer["changed"] == ["title", "start"]
    assert answer["start"] == "2026-03-30T12:00:00+02:00"
    assert question() == (
        'change title, start of the event "Lunch" (2026-03-27 12:00 to 13:30 UTC+01:00); title "Long lunch"; '
        "new time 2026-03-30 12:00 to 13:30 Europe/Berlin"
    )


def test_the_user_sees_every_new_value_of_an_event(calendar, desk, question):
    event = calendar.add("Lunch", "2026-03-27T12:00", "2026-03-27T13:30")

    desk(
        "calendar_update_event",
        event_id=event,
        summary="",
        description="<b>Bring</b> soup" + "!" * 300,
        location="Corner\x1b[2J",
        recurrence=["RRULE:FREQ=DAILY;COUNT=2"],
        reminders=[{"minutes": 30}],
        show_as="free",
        visibility="private",
        color_id="3",
        add_meet=True,
        attachments=["https://drive.google.com/file/d/1/view"],
    )

    assert question() == (
        "change title, description, location, color, visibility, show_as, recurrence, reminders, attachments, "
        'meet link of the event "Lunch" (2026-03-27 12:00 to 13:30 UTC+01:00); title ""; '
        "new time 2026-03-27 12:00 to 13:30 Europe/Berlin; "
        'again and again ("RRULE:FREQ=DAILY;COUNT=2"); location "Corner\\x1b[2J"; '
        f'description "Bring soup{"!" * 290}…" and 10 more characters (HTML of 317 characters); a new Meet link; '
        'attachments "https://drive.google.com/file/d/1/view"; reminders popup 30 minutes before; shown as free; '
        "visibility private; color 3"
    )
    desk("calendar_update_event", event_id=event, location="", description="", recurrence=[], reminders=[])
    assert question().endswith("; no recurrence; no location; no description; no reminders")


@pytest.mark.long
def test_guests_stand_before_the_texts_of_an_event(calendar, desk, question):
    event = desk(
        "calendar_create_event", summary="Lunch", start="2026-03-27T12:00", attendees=[BO], description="x" * 999
    )["id"]
    said = f'description "{"x" * 300}…" and 699 more characters'

    assert question().endswith(f", invite {BO} and mail them all about it, {said}")
    desk("calendar_update_event", event_id=event, description="x" * 999, add_attendees=[DI])
    assert question().endswith(f"; invite {DI} (guests: {BO}, {DI}) and mail them all about it; {said}")


def test_an_end_alone_moves_the_end(calendar, desk):
    timed, days = calendar.add("Lunch", "2026-03-27T12:00"), calendar.add("Fair", "2026-03-30")

    desk("calendar_update_event", event_id=timed, end="2026-03-27T15:00")
    desk("calendar_update_event", event_id=days, end="2026-04-01")

    assert when(calendar.event(timed)) == ("2026-03-27T12:00:00+01:00", "2026-03-27T15:00:00+01:00")
    assert when(calendar.event(days)) == ("2026-03-30", "2026-04-02")
    assert "later than start" in desk.error("calendar_update_event", event_id=timed, end="2026-03-27T11:00")[1]


@pytest.mark.long
def test_times_become_days_and_days_become_times(calendar, desk):
    event = calendar.add("Trip", "2026-03-30", "2026-04-02")

    desk("calendar_update_event", event_id=event, start="2026-03-30T08:00")
    assert when(calendar.event(event)) == ("2026-03-30T08:00:00+02:00", "2026-03-30T09:00:00+02:00")
    desk("calendar_update_event", event_id=event, start="2026-03-30")
    assert calendar.event(event)["start"] == {"date": "2026-03-30"}
    assert calendar.event(event)["end"] == {"date": "2026-03-31"}


def test_guests_come_and_go_and_the_others_stay_as_they_are(google, calendar, desk, question):
    event = calendar.add("Review", "2026-03-31T10:00", guests={ANA: "accepted", BO: "declined", CY: "accepted"})
    calendar.event(event)["attendees"][1] |= {"comment": "ill", "displayName": "Bo", "additionalGuests": 2}

    answer = desk(
        "calendar_update_event", event_id=event, add_attendees=[DI, BO], remove_attendees=["CY@elsewhere.org"]
    )

    guests = calendar.event(event)["attendees"]
    assert [(each["email"], each["responseStatus"]) for each in guests] == [
        (ANA, "accepted"),
        (BO, "declined"),
        (DI, "needsAction"),
    ]
    assert guests[1] | {"comment": "ill", "displayName": "Bo", "additionalGuests": 2} == guests[1]
    assert answer["changed"] == ["guests"]
    assert f"invite {DI}, {BO}; disinvite CY@elsewhere.org (guests: {BO}, {CY}, {DI}, {BO})" in question()
    error_type, message = desk.error("calendar_update_event", event_id=event, remove_attendees=["no@example.com"])
    assert (error_type, "is not among the guests" in message) == ("validation_error", True)
    assert google.queries("calendar.events.patch")[0]["sendUpdates"] == "all"


@pytest.mark.long
def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(google, calendar, desk):
    event = calendar.add("Review", "2026-03-31T10:00", guests={ANA: "accepted"})
    handler = google._handlers["calendar.events.patch"]

    def meanwhile(call):
        google._handlers["calendar.events.patch"] = handler
        guests = [*calendar.event(event)["attendees"], {"email": CY, "responseStatus": "accepted"}]
        calendar.touch(event, attendees=guests)
        return handler(call)

    google._handlers["calendar.events.patch"] = meanwhile

    desk("calendar_update_event", event_id=event, add_attendees=[BO])

    assert [each["email"] for each in calendar.event(event)["attendees"]] == [ANA, CY, BO]
    assert len(google.called("calendar.events.patch")) == 2
    assert len(desk.asked) == 1
    calls = [each.headers["if-match"] for each in google.requests if each.method_id == "calendar.events.patch"]
    assert len(set(calls)) == 2


def test_who_always_comes_second_is_told(google, calendar, desk):
    event = calendar.add("Review", "2026-03-31T10:00")
    google.fail("calendar.events.patch", status=412, reason="conditionNotMet", times=2)

    assert desk.error("calendar_update_event", event_id=event, summary="x")[0] == "conflict"


@pytest.mark.long
def test_a_change_that_was_not_confirmed_is_made_once(google, calendar, desk):
    event = calendar.add("Review", "2026-03-31T10:00", guests={ANA: "accepted"})
    google.fail("calendar.events.patch", status=503, is_after=True)

    answer = desk("calendar_update_event", event_id=event, summary="New", add_attendees=[BO])

    assert answer["title"] == "New"
    assert [each["email"] for each in calendar.event(event)["attendees"]] == [ANA, BO]


@pytest.mark.long
def test_an_invitation_is_answered_for_oneself_alone(google, calendar, desk, question):
    event = calendar.add(
        "Party", "2026-03-31T20:00", organizer=CY, guests={CY: "accepted", ANA: "needsAction", BO: "declined"}
    )

    answer = desk("calendar_update_event", event_id=event, my_response="accepted", response_comment="With cake")

    assert [each["responseStatus"] for each in calendar.event(event)["attendees"]] == [
        "accepted",
        "accepted",
        "declined",
    ]
    assert calendar.event(event)["attendees"][1]["comment"] == "With cake"
    assert answer["changed"] == ["my_response"]
    body = google.bodies("calendar.events.patch")[0]
    assert body["attendeesOmitted"] is True
    assert [each["email"] for each in body["attendees"]] == [ANA]
    assert question() == (
        'answer accepted with the note "With cake" to cy@elsewhere.org to the invitation "Party" '
        "(2026-03-31 20:00 to 21:00 UTC+02:00)"
    )
    error_type, _ = desk.error("calendar_update_event", event_id=event, summary="My party")
    assert error_type == "permission_denied"
    own = calendar.add("Alone", "2026-03-31T10:00")
    assert "not among the guests" in desk.error("calendar_update_event", event_id=own, my_response="declined")[1]


@pytest.mark.long
def test_one_occurrence_or_the_whole_series_is_changed(calendar, desk, question):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=4"])
    third = f"{series}_20260329T070000Z"

    desk("calendar_update_event", event_id=third, start="2026-03-29T11:00")
    events = desk("calendar_list_events", time_min="2026-03-27")["events"]
    assert [event["start"][11:16] for event in events] == ["09:00", "09:00", "11:00", "09:00"]
    desk("calendar_update_event", event_id=series, location="Room 2", recurrence=["RRULE:FREQ=DAILY;COUNT=2"])
    assert calendar.event(series)["recurrence"] == ["RRULE:FREQ=DAILY;COUNT=2"]
    assert 'the series "Standup"' in question()
    error_type, message = desk.error("calendar_update_event", event_id=third, recurrence=["RRULE:FREQ=DAILY"])
    assert (error_type, message) == (
        "validation_error",
        f"This is one occurrence. Change the recurrence of the series {series}.",
    )
    desk("calendar_update_event", event_id=series, recurrence=[])
    assert "recurrence" not in calendar.event(series)


def test_a_single_event_becomes_a_series_with_a_zone(calendar, desk):
    event = calendar.add("Standup", "2026-03-30T09:00")
    calendar.event(event)["start"].pop("timeZone")

    desk("calendar_update_event", event_id=event, recurrence=["RRULE:FREQ=DAILY;COUNT=2"])

    assert calendar.event(event)["start"]["timeZone"] == "Europe/Berlin"


@pytest.mark.long
def test_texts_are_cleared_and_the_rest_is_changed(google, calendar, desk):
    event = calendar.add("Talk", "2026-03-31T10:00", description="old", location="here")

    answer = desk(
        "calendar_update_event",
        event_id=event,
        description="",
        location="",
        show_as="busy",
        visibility="public",
        color_id="1",
        reminders=[],
        attachments=["https://drive.google.com/open?id=2"],
        add_meet=True,
    )

    changed = calendar.event(event)
    assert (changed["description"], changed["location"], changed["transparency"]) == ("", "", "opaque")
    assert changed["reminders"] == {"useDefault": False, "overrides": []}
    assert changed["attachments"][0]["fileUrl"].endswith("id=2")
    assert answer["meet_link"] == changed["hangoutLink"]
    assert set(answer["changed"]) == {
        "description",
        "location",
        "show_as",
        "visibility",
        "color",
        "reminders",
        "attachments",
        "meet link",
    }


def test_an_event_moves_to_another_calendar(google, calendar, desk, question):
    calendar.add_calendar(TEAM, "Team", {ANA: "writer"})
    event = calendar.add("Plan", "2026-03-31T10:00")

    answer = desk("calendar_update_event", event_id=event, summary="Team plan", move_to_calendar_id=TEAM)

    assert (calendar.titles(), calendar.titles(TEAM)) == ([], ["Team plan"])
    assert (answer["changed"], answer["calendar_id"]) == (["title", "calendar"], TEAM)
    assert question().endswith(f'; move it to the calendar "{TEAM}"')
    assert len(desk.asked) == 1


def test_a_change_that_worked_is_told_when_the_move_did_not(calendar, desk):
    event = calendar.add("Plan", "2026-03-31T10:00")
    focus = calendar.add("Focus", "2026-03-31T10:00", eventType="focusTime")
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=4"])

    error_type, message = desk.error(
        "calendar_update_event", event_id=event, summary="New", move_to_calendar_id="no@example.com"
    )
    assert error_type == "not_found"
    assert message.startswith("title of the event are changed, but it could not be moved.")
    for event_id, reason in ((focus, "focusTime cannot be moved"), (f"{series}_20260328T080000Z", "whole series")):
        said = desk.error("calendar_update_event", event_id=event_id, move_to_calendar_id=TEAM)
        assert (said[0], reason in said[1]) == ("validation_error", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({}, "Give what to change about the event"),
            ({"response_comment": "x"}, "response_comment goes with my_response"),
            ({"time_zone": "UTC"}, "time_zone goes with start, end or recurrence"),
            ({"add_attendees": ["x"]}, "add_attendees must be addresses"),
            ({"remove_attendees": ["x"]}, "remove_attendees must be addresses"),
            ({"recurrence": ["daily"]}, "recurrence must be lines"),
            ({"color_id": "red"}, "color_id must be 1 to 11"),
        ],
        3,
    ),
)
def test_changes_that_cannot_be_are_refused_with_what_to_do(google, desk, arguments, message):
    error_type, said = desk.error("calendar_update_event", event_id="event1", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


# Deleting


def test_an_event_is_deleted_and_its_guests_are_told(calendar, desk, question):
    event = calendar.add("Review", "2026-03-31T10:00", guests={ANA: "accepted", BO: "accepted"})

    answer = desk("calendar_delete_event", event_id=event)

    assert calendar.titles() == []
    assert calendar.mails == [("Review", BO)]
    assert answer == {
        "id": event,
        "title": "Review",
        "start": "2026-03-31T10:00:00+02:00",
        "scope": "event",
        "notified": "all",
        "status": "deleted",
    }
    assert question() == (
        f'delete the event "Review" (2026-03-31 10:00 to 11:00 UTC+02:00) with {BO} and mail them all about it'
    )
    assert desk("calendar_delete_event", event_id=event)["status"] == "was deleted before"
    assert len(desk.asked) == 1


@pytest.mark.long
def test_an_occurrence_and_a_series_are_told_apart(calendar, desk, question):
    series = calendar.add("Standup", "2026-03-27T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=4"])

    assert desk("calendar_delete_event", event_id=f"{series}_20260328T080000Z")["scope"] == "occurrence"
    assert question().startswith('delete one occurrence of the series "Standup" (2026-03-28 09:00')
    assert len(desk("calendar_list_events", time_min="2026-03-27")["events"]) == 3
    assert desk("calendar_delete_event", event_id=series)["scope"] == "series"
    assert question().startswith('delete the WHOLE SERIES "Standup"')
    assert calendar.titles() == []


@pytest.mark.long
def test_a_guest_deletes_the_own_copy_only(calendar, desk, question):
    event = calendar.add("Party", "2026-03-31T20:00", organizer=CY, guests={CY: "accepted", ANA: "needsAction"})

    answer = desk("calendar_delete_event", event_id=event)

    assert "notified" not in answer
    assert question().endswith(", an invitation from cy@elsewhere.org, from your calendar only")


@pytest.mark.parametrize("fault", [{"status": 500, "is_after": True}, {"status": 410, "reason": "deleted"}])
def test_a_deletion_that_was_not_confirmed_counts(google, calendar, desk, fault):
    event = calendar.add("Review", "2026-03-31T10:00")
    google.fail("calendar.events.delete", **fault)

    assert desk("calendar_delete_event", event_id=event)["status"] == "deleted"


def test_whoever_says_no_keeps_everything_as_it_is(google, calendar, desk):
    event = calendar.add("Review", "2026-03-31T10:00", guests={ANA: "accepted"})
    before = repr(calendar.event(event))
    desk.answer = PermissionAnswer.NO

    for tool, arguments in (
        ("calendar_create_event", {"summary": "x", "start": "2026-03-31T10:00"}),
        ("calendar_update_event", {"event_id": event, "summary": "x"}),
        ("calendar_update_event", {"event_id": event, "my_response": "declined"}),
        ("calendar_delete_event", {"event_id": event}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr(calendar.event(event)) == before
    assert calendar.titles() == ["Review"]
    assert set(google.called("calendar.")) <= {"calendar.events.get", "calendar.events.list"}
