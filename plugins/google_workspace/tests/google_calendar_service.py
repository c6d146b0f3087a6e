"""The stand-in's Google Calendar."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from google_calendar_recurrence import stamp, starts
from google_service import ApiError, Call, Service, bad_request, handles, not_found

ROLES = ["freeBusyReader", "reader", "writerWithoutPrivateAccess", "writer", "owner"]
PRIVATE_FIELDS = {"reminders", "colorId", "transparency", "visibility", "attendees", "attendeesOmitted"}
_EVENT_ID = re.compile(r"[a-v0-9]{5,1024}")


@dataclass
class Kept:
    """A calendar.

    Attributes:
        entry: of the calendar list.
        roles: what each user may do.
        events: single events and series by id; what guests see is the same object in their calendars.
        exceptions: occurrences that are unlike their series, by id.
    """

    entry: dict[str, Any]
    roles: dict[str, str]
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    exceptions: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.entry["timeZone"])

    @property
    def id(self) -> str:
        return self.entry["id"]


class Calendar(Service):
    """Calendars with events; a primary calendar has its user's address as its id.

    Attributes:
        calendars: by id.
        mails: what people were told: event title and address.
        is_meet_slow: whether the link of a video call comes only at the second look.
        max_range: of free/busy.
    """

    def start(self) -> None:
        self.calendars: dict[str, Kept] = {}
        self.mails: list[tuple[str, str]] = []
        self.is_meet_slow = False
        self.max_range = timedelta(days=62)
        self.add_calendar("ana@example.com", "Ana", {"ana@example.com": "owner"}, primary=True)

    # Arranging

    def add_calendar(
        self,
        calendar_id: str,
        name: str,
        roles: dict[str, str] | None = None,
        *,
        zone: str = "Europe/Berlin",
        **values: Any,
    ) -> str:
        """Make a calendar; without roles, Ana may only see when it is busy."""
        entry = {"id": calendar_id, "summary": name, "timeZone": zone, **values}
        self.calendars[calendar_id] = Kept(entry, roles or {"ana@example.com": "freeBusyReader"})
        return calendar_id

    def add(
        self,
        title: str,
        begin: str,
        end: str | None = None,
        *,
        calendar_id: str = "ana@example.com",
        organizer: str | None = None,
        guests: dict[str, str] | None = None,
        **values: Any,
    ) -> str:
        """Put an event into a calendar, by default of an hour or a day; gives its id.

        Args:
            title: of it.
            begin: a day or a time, without an offset in the zone of the calendar.
            end: the same; of days, the day after the last.
            calendar_id: where.
            organizer: by default the calendar.
            guests: answers by address.
            values: of the event resource.
        """
        calendar = self.calendars[calendar_id]
        times = {}
        if len(begin) == 10:
            end = end or (date.fromisoformat(begin) + timedelta(days=1)).isoformat()
            times = {"start": {"date": begin}, "end": {"date": end}}
        else:
            moments = [datetime.fromisoformat(each) for each in (begin, end) if each]
            moments = [each if each.tzinfo else each.replace(tzinfo=calendar.zone) for each in moments]
            if end is None:
                moments.append(moments[0] + timedelta(hours=1))
            for name, each in zip(("start", "end"), moments, strict=True):
                times[name] = {"dateTime": each.isoformat(), "timeZone": calendar.entry["timeZone"]}
        event = {"id": self.new_id("event"), "summary": title, **times, **values}
        if guests:
            event["attendees"] = [{"email": each, "responseStatus": answer} for each, answer in guests.items()]
        self._place(calendar, event, organizer or calendar_id)
        return event["id"]

    def event(self, event_id: str, calendar_id: str = "ana@example.com") -> dict[str, Any]:
        calendar = self.calendars[calendar_id]
        return calendar.events.get(event_id) or calendar.exceptions[event_id]

    def titles(self, calendar_id: str = "ana@example.com") -> list[str]:
        events = self.calendars[calendar_id].events.values()
        return [each["summary"] for each in events if each["status"] != "cancelled"]

    def touch(self, event_id: str, calendar_id: str = "ana@example.com", **values: Any) -> None:
        """Change an event as somebody else would."""
        event = self.event(event_id, calendar_id)
        event |= values
        self._renew(event)

    def _place(self, calendar: Kept, event: dict[str, Any], organizer: str) -> None:
        event |= {
            "kind": "calendar#event",
            "status": "confirmed",
            "organizer": {"email": organizer},
            "creator": {"email": organizer},
            "created": self.now(),
            "iCalUID": f"{event['id']}@google.com",
            "htmlLink": f"https://www.google.com/calendar/event?eid={event['id']}",
            "eventType": event.get("eventType", "default"),
        }
        event.setdefault("reminders", {"useDefault": True})
        for guest in event.get("attendees", []):
            guest.setdefault("responseStatus", "accepted" if guest["email"] == organizer else "needsAction")
        self._renew(event)
        calendar.events[event["id"]] = event
        for guest in event.get("attendees", []):
            if guest["email"] in self.calendars:
                self.calendars[guest["email"]].events[event["id"]] = event

    def _renew(self, event: dict[str, Any]) -> None:
        event["updated"] = self.now()
        event["etag"] = f'"{self.new_id("etag")}"'

    # Who sees what

    def _calendar(self, call: Call, name: str = "calendarId", needs: str = "freeBusyReader") -> Kept:
        wanted = call[name]
        calendar = self.calendars.get(call.user if wanted == "primary" else wanted)
        role = calendar and calendar.roles.get(call.user)
        if calendar is None or role is None:
            raise not_found("Calendar")
        if ROLES.index(role) < ROLES.index(needs):
            raise ApiError(403, "requiredAccessLevel", "You need to have writer access to this calendar.")
        return calendar

    def _find(self, calendar: Kept, event_id: str) -> dict[str, Any]:
        found = calendar.events.get(event_id) or calendar.exceptions.get(event_id)
        if found is not None:
            return found
        series, _, _ = event_id.partition("_")
        for each in self._occurrences(calendar, calendar.events.get(series, {})):
            if each["id"] == event_id:
                return each
        raise not_found("Event")

    def _seen(self, call: Call, calendar: Kept, event: dict[str, Any]) -> dict[str, Any]:
        zone = ZoneInfo(call["timeZone"]) if "timeZone" in call.parameters else calendar.zone
        if calendar.roles[call.user] == "freeBusyReader":
            event = {name: event[name] for name in ("id", "status", "start", "end", "etag")}
        event = deepcopy(event)
        for name in ("start", "end"):
            if "dateTime" in event.get(name, {}):
                moment = datetime.fromisoformat(event[name]["dateTime"])
                event[name]["dateTime"] = moment.astimezone(zone).isoformat().replace("+00:00", "Z")
        for each in [*event.get("attendees", []), event.get("organizer", {})]:
            if each.get("email") == calendar.id:
                each["self"] = True
        if call.get("maxAttendees") and len(event.get("attendees", [])) > call["maxAttendees"]:
            event["attendees"] = event["attendees"][: call["maxAttendees"]]
            event["attendeesOmitted"] = True
        return event

    # Times

    @staticmethod
    def _moment(calendar: Kept, value: dict[str, Any]) -> datetime:
        if "date" in value:
            return datetime.combine(date.fromisoformat(value["date"]), time(), calendar.zone)
        return datetime.fromisoformat(value["dateTime"])

    def _occurrences(self, calendar: Kept, event: dict[str, Any]) -> list[dict[str, Any]]:
        if not event.get("recurrence"):
            return []
        first, end = event["start"], event["end"]
        is_day = "date" in first
        begin = date.fromisoformat(first["date"]) if is_day else datetime.fromisoformat(first["dateTime"])
        last = date.fromisoformat(end["date"]) if is_day else datetime.fromisoformat(end["dateTime"])
        zone = ZoneInfo(first.get("timeZone", calendar.entry["timeZone"]))
        found = []
        for each in starts(begin, event["recurrence"], zone):
            instance_id = f"{event['id']}_{stamp(each)}"
            if instance_id in calendar.exceptions:
                found.append(calendar.exceptions[instance_id])
                continue
            instance = {name: value for name, value in event.items() if name != "recurrence"}
            length = last - begin
            if isinstance(each, datetime):
                until = (each.astimezone(UTC) + length).astimezone(zone)
                times = [{"dateTime": one.isoformat(), "timeZone": zone.key} for one in (each, until)]
            else:
                times = [{"date": one.isoformat()} for one in (each, each + length)]
            instance |= {"id": instance_id, "recurringEventId": event["id"], "originalStartTime": dict(times[0])}
            found.append(instance | {"start": times[0], "end": times[1]})
        return found

    def _check_times(self, event: dict[str, Any]) -> None:
        for name in ("start", "end"):
            value = event.get(name)
            if not value or ("date" in value) == ("dateTime" in value):
                raise bad_request(f"Invalid {name} time.")
        if ("date" in event["start"]) != ("date" in event["end"]):
            raise bad_request("Invalid start time.")
        if "date" in event["start"]:
            is_ordered = event["end"]["date"] > event["start"]["date"]
        else:
            moments = [datetime.fromisoformat(event[name]["dateTime"]) for name in ("start", "end")]
            is_ordered = moments[1] >= moments[0]
            if event.get("recurrence") and "timeZone" not in event["start"]:
                raise bad_request("Missing time zone definition for start time.", "required")
        if not is_ordered:
            raise bad_request("The specified time range is empty.", "timeRangeEmpty")
        for line in event.get("recurrence", []):
            if not line.startswith(("RRULE:", "EXRULE:", "RDATE", "EXDATE")):
                raise bad_request("Invalid recurrence rule.")

    # Calendars

    @handles("calendar.calendars.insert")
    def insert_calendar(self, call: Call) -> dict[str, Any]:
        name = call.body.get("summary")
        if not name:
            raise bad_request("Missing title.", "required")
        calendar_id = f"{self.new_id('c')}@group.calendar.google.com"
        values = {key: call.body[key] for key in ("description", "location") if key in call.body}
        self.add_calendar(calendar_id, name, {call.user: "owner"}, zone=call.body.get("timeZone", "UTC"), **values)
        return {"kind": "calendar#calendar", **self.calendars[calendar_id].entry}

    @handles("calendar.calendars.patch")
    def patch_calendar(self, call: Call) -> dict[str, Any]:
        calendar = self._calendar(call, needs="owner")
        calendar.entry |= call.body
        described = ("id", "summary", "description", "location", "timeZone")
        return {"kind": "calendar#calendar", **{key: calendar.entry[key] for key in described if key in calendar.entry}}

    @handles("calendar.calendars.delete")
    def delete_calendar(self, call: Call) -> None:
        calendar = self._calendar(call, needs="owner")
        if calendar.entry.get("primary"):
            raise ApiError(403, "cannotDeletePrimaryCalendar", "Cannot delete a primary calendar.")
        del self.calendars[calendar.id]

    # Reading

    @handles("calendar.calendarList.list")
    def list_calendars(self, call: Call) -> dict[str, Any]:
        least = ROLES.index(call.get("minAccessRole", ROLES[0]))
        found = [
            {"kind": "calendar#calendarListEntry", **each.entry, "accessRole": each.roles[call.user]}
            for each in self.calendars.values()
            if call.user in each.roles
            and ROLES.index(each.roles[call.user]) >= least
            and (call.get("showHidden") or not each.entry.get("hidden"))
        ]
        items, following = self.page(call, found, default=100, most=250)
        return {"kind": "calendar#calendarList", "items": items, **following}

    @handles("calendar.events.list")
    def list_events(self, call: Call) -> dict[str, Any]:
        calendar = self._calendar(call)
        is_single = call.get("singleEvents", False)
        if call.get("orderBy") == "startTime" and not is_single:
            raise bad_request("The requested ordering is not available for the particular query.")
        low, high = call.get("timeMin"), call.get("timeMax")
        if low and high and datetime.fromisoformat(low) >= datetime.fromisoformat(high):
            raise bad_request("The specified time range is empty.", "timeRangeEmpty")
        found = []
        for event in calendar.events.values():
            found += self._occurrences(calendar, event) if is_single and event.get("recurrence") else [event]
        found = [each for each in found if self._is_listed(call, calendar, each)]
        if call.get("orderBy") == "startTime":
            found.sort(key=lambda each: self._moment(calendar, each["start"]))
        items, following = self.page(call, found, default=250, most=2500)
        return {
            "kind": "calendar#events",
            "summary": calendar.entry["summary"],
            "timeZone": call.get("timeZone", calendar.entry["timeZone"]),
            "accessRole": calendar.roles[call.user],
            "items": [self._seen(call, calendar, each) for each in items],
            **following,
        }

    def _is_listed(self, call: Call, calendar: Kept, event: dict[str, Any]) -> bool:
        if event["status"] == "cancelled" and not call.get("showDeleted"):
            return False
        if "eventTypes" in call.parameters and event["eventType"] not in call["eventTypes"]:
            return False
        texts = [event.get(name, "") for name in ("summary", "description", "location")]
        texts += [each["email"] for each in event.get("attendees", [])]
        if call.get("q") and not all(word.lower() in " ".join(texts).lower() for word in call["q"].split()):
            return False
        start, end = self._moment(calendar, event["start"]), self._moment(calendar, event["end"])
        if "timeMin" in call.parameters and end <= datetime.fromisoformat(call["timeMin"]):
            return False
        return "timeMax" not in call.parameters or start < datetime.fromisoformat(call["timeMax"])

    @handles("calendar.events.get")
    def get(self, call: Call) -> dict[str, Any]:
        calendar = self._calendar(call)
        event = self._find(calendar, call["eventId"])
        self._settle_meet(event)
        return self._seen(call, calendar, event)

    @handles("calendar.events.instances")
    def instances(self, call: Call) -> dict[str, Any]:
        calendar = self._calendar(call, needs="reader")
        event = self._find(calendar, call["eventId"])
        if not event.get("recurrence"):
            raise bad_request("The event is not a recurring event.")
        found = [each for each in self._occurrences(calendar, event) if self._is_listed(call, calendar, each)]
        items, following = self.page(call, found, default=250, most=2500)
        return {"kind": "calendar#events", "items": [self._seen(call, calendar, each) for each in items], **following}

    @handles("calendar.freebusy.query")
    def free_busy(self, call: Call) -> dict[str, Any]:
        low, high = (datetime.fromisoformat(call.body[name]) for name in ("timeMin", "timeMax"))
        if high <= low:
            raise bad_request("The specified time range is empty.", "timeRangeEmpty")
        if high - low > self.max_range:
            raise bad_request("The requested time range is too long.", "timeRangeTooLong")
        zone = ZoneInfo(call.body.get("timeZone", "UTC"))
        found: dict[str, Any] = {}
        for item in call.body["items"]:
            calendar = self.calendars.get(call.user if item["id"] == "primary" else item["id"])
            if calendar is None or call.user not in calendar.roles:
                found[item["id"]] = {"errors": [{"domain": "global", "reason": "notFound"}], "busy": []}
                continue
            spans = [
                {name: each.astimezone(zone).isoformat().replace("+00:00", "Z") for name, each in span.items()}
                for span in _merged(self._busy(calendar, low, high))
            ]
            found[item["id"]] = {"busy": spans}
        written = {name: call.body[name] for name in ("timeMin", "timeMax")}
        return {"kind": "calendar#freeBusy", **written, "calendars": found}

    def _busy(self, calendar: Kept, low: datetime, high: datetime) -> list[tuple[datetime, datetime]]:
        spans = []
        for event in calendar.events.values():
            for each in self._occurrences(calendar, event) or [event]:
                guests = {guest["email"]: guest["responseStatus"] for guest in each.get("attendees", [])}
                is_free = each.get("transparency") == "transparent" or each["status"] == "cancelled"
                start, end = self._moment(calendar, each["start"]), self._moment(calendar, each["end"])
                if not is_free and guests.get(calendar.id) != "declined" and start < high and end > low:
                    spans.append((max(start, low), min(end, high)))
        return spans

    # Writing

    @handles("calendar.events.insert")
    def insert(self, call: Call) -> dict[str, Any]:
        calendar = self._calendar(call, needs="writer")
        event = deepcopy(call.body)
        event_id = event.setdefault("id", self.new_id("made"))
        if not _EVENT_ID.fullmatch(event_id):
            raise bad_request("Invalid resource id value.")
        if event_id in calendar.events:
            raise ApiError(409, "duplicate", "The requested identifier already exists.")
        self._check_times(event)
        if event.get("eventType", "default") != "default":
            self._check_type(calendar, event)
        self._take_extras(call, event)
        self._place(calendar, event, calendar.id)
        self._mail(call, event)
        return self._seen(call, calendar, event)

    @staticmethod
    def _check_type(calendar: Kept, event: dict[str, Any]) -> None:
        if not calendar.entry.get("primary"):
            raise bad_request("A focus time or out of office event must be in the primary calendar.")
        if "date" in event["start"] or event.get("attendees") or event.get("conferenceData"):
            raise bad_request("A focus time or out of office event must be timed and without attendees.")

    def _take_extras(self, call: Call, event: dict[str, Any]) -> None:
        if event.get("attachments") and not call.get("supportsAttachments"):
            event.pop("attachments")
        for each in event.get("attachments", []):
            each["title"] = each["fileUrl"].rpartition("/")[2]
        if "conferenceData" not in event:
            return
        if call.get("conferenceDataVersion") != 1:
            event.pop("conferenceData")
            return
        if event["conferenceData"].get("conferenceId"):  # the call of another event
            event["hangoutLink"] = f"https://meet.google.com/{event['conferenceData']['conferenceId']}"
            return
        request = event["conferenceData"].get("createRequest", {})
        if not request.get("requestId"):
            raise bad_request("Invalid conference data.")
        request["status"] = {"statusCode": "pending"}
        if not self.is_meet_slow:
            self._settle_meet(event)

    @staticmethod
    def _settle_meet(event: dict[str, Any]) -> None:
        request = event.get("conferenceData", {}).get("createRequest", {})
        if request.get("status", {}).get("statusCode") == "pending":
            request["status"] = {"statusCode": "success"}
            event["conferenceData"]["conferenceId"] = request["requestId"][:10]
            event["hangoutLink"] = f"https://meet.google.com/{request['requestId'][:10]}"

    def _mail(self, call: Call, event: dict[str, Any]) -> None:
        updates = call.get("sendUpdates", "none")
        domain = call.user.partition("@")[2]
        for guest in event.get("attendees", []):
            is_outside = guest["email"].partition("@")[2] != domain
            if guest["email"] != call.user and (updates == "all" or (updates == "externalOnly" and is_outside)):
                self.mails.append((event["summary"], guest["email"]))

    def _writable(self, call: Call) -> tuple[Kept, dict[str, Any]]:
        """The event of a writing call; an occurrence becomes one."""
        calendar = self._calendar(call, needs="writer")
        event = self._find(calendar, call["eventId"])
        if "if-match" in call.headers and call.headers["if-match"] != event["etag"]:
            raise ApiError(412, "conditionNotMet", "Precondition Failed")
        if "recurringEventId" in event and event["id"] not in calendar.exceptions:
            event = calendar.exceptions[event["id"]] = deepcopy(event)
        return calendar, event

    @handles("calendar.events.patch")
    def patch(self, call: Call) -> dict[str, Any]:
        calendar, event = self._writable(call)
        is_organizer = event["organizer"]["email"] == calendar.id
        if not is_organizer and not event.get("guestsCanModify") and call.body.keys() - PRIVATE_FIELDS:
            raise ApiError(
                403, "forbiddenForNonOrganizer", "Shared properties can only be changed by the organizer of the event."
            )
        body = deepcopy(call.body)
        is_partial = body.pop("attendeesOmitted", False)
        if is_partial:
            answers = {each["email"]: each for each in body.pop("attendees")}
            for guest in event["attendees"]:
                guest |= answers.get(guest["email"], {})
        changed = _merge(deepcopy(event), body)
        self._check_times(changed)
        if changed["eventType"] != event["eventType"]:
            raise bad_request("Event type cannot be changed.", "eventTypeRestriction")
        self._take_extras(call, changed)
        before = {each["email"] for each in event.get("attendees", [])}
        for guest in changed.get("attendees", []):
            guest.setdefault("responseStatus", "needsAction")
            if guest["email"] not in before and guest["email"] in self.calendars:
                self.calendars[guest["email"]].events[event["id"]] = event
        event.clear()
        event |= changed
        self._renew(event)
        self._mail(call, event)
        return self._seen(call, calendar, event)

    @handles("calendar.events.move")
    def move(self, call: Call) -> dict[str, Any]:
        calendar, event = self._writable(call)
        target = self._calendar(call, "destination", needs="writer")
        if event["eventType"] != "default" or "recurringEventId" in event:
            raise bad_request("Only default events can be moved.", "eventTypeRestriction")
        if event["organizer"]["email"] != calendar.id:
            raise ApiError(403, "cannotChangeOrganizer", "Cannot change the organizer of an instance.")
        target.events[event["id"]] = calendar.events.pop(event["id"])
        event["organizer"] = {"email": target.id}
        self._renew(event)
        return self._seen(call, target, event)

    @handles("calendar.events.delete")
    def delete(self, call: Call) -> None:
        calendar, event = self._writable(call)
        if event["status"] == "cancelled":
            raise ApiError(410, "deleted", "Resource has been deleted")
        if event["organizer"]["email"] != calendar.id:
            calendar.events[event["id"]] = {**event, "status": "cancelled"}
            return
        event["status"] = "cancelled"
        self._renew(event)
        self._mail(call, event)


def _merge(target: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Patch as Google does: objects are merged, lists replaced, a null clears."""
    for name, value in change.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            _merge(target[name], value)
        else:
            target[name] = value
    return target


def _merged(spans: list[tuple[datetime, datetime]]) -> list[dict[str, datetime]]:
    found: list[dict[str, datetime]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1]["end"]:
            found[-1]["end"] = max(found[-1]["end"], end)
        else:
            found.append({"start": start, "end": end})
    return found


SERVICE = Calendar
