"""The vacation responder: what it is, and what a change makes of it; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.gmail.addresses import FORBIDDEN
from oneclaw_google_workspace.gmail.headers import moment
from oneclaw_google_workspace.gmail.html_text import html_to_text
from oneclaw_google_workspace.moments import read_moment
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import passage

if TYPE_CHECKING:
    from collections.abc import Mapping

VACATION_FIELDS = (
    "enableAutoReply,responseSubject,responseBodyPlainText,responseBodyHtml,restrictToContacts,restrictToDomain,"
    "startTime,endTime"
)


@dataclass(frozen=True, slots=True)
class VacationChange:
    """The arguments of a tool; ``None`` if absent, an empty text to clear a field."""

    enabled: bool | None = None
    subject: str | None = None
    body: str | None = None
    body_format: str = "text"
    start: str | None = None
    end: str | None = None
    restrict_to_contacts: bool | None = None
    restrict_to_domain: bool | None = None

    @property
    def is_empty(self) -> bool:
        """True if nothing is to change."""
        values = (self.enabled, self.subject, self.body, self.start, self.end)
        return all(value is None for value in (*values, self.restrict_to_contacts, self.restrict_to_domain))

    def applied_to(self, before: Mapping[str, Any], now: float) -> dict[str, Any]:
        """All of the responder as it is to be; Google takes it as a whole only.

        Args:
            before: as Google answers it.
            now: in seconds since 1970.

        Raises:
            GoogleError: it cannot be like that.
        """
        after = {key: before[key] for key in VACATION_FIELDS.split(",") if before.get(key) not in (None, "")}
        if self.enabled and not before.get("enableAutoReply") and _milliseconds(before, "endTime") <= now * 1000:
            # The days of the last vacation would keep it switched off.
            after.pop("startTime", None)
            after.pop("endTime", None)
        if self.subject is not None:
            if FORBIDDEN.search(self.subject):
                raise invalid("The subject has a line end or another control character in it.")
            after["responseSubject"] = self.subject
        if self.body is not None:
            # With both Gmail would send the HTML one.
            after.pop("responseBodyHtml", None)
            after.pop("responseBodyPlainText", None)
            after["responseBodyHtml" if self.body_format == "html" else "responseBodyPlainText"] = self.body
        for key, value in (
            ("enableAutoReply", self.enabled),
            ("restrictToContacts", self.restrict_to_contacts),
            ("restrictToDomain", self.restrict_to_domain),
        ):
            if value is not None:
                after[key] = value
        for key, name, text, days_later in (("startTime", "start", self.start, 0), ("endTime", "end", self.end, 1)):
            if text is not None:
                after.pop(key, None)
                if text.strip():
                    after[key] = str(round(read_moment(name, text, days_later=days_later).timestamp() * 1000))
        _check(after, now)
        return {"enableAutoReply": False, **compact(after)}


def vacation_row(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a responder.

    Args:
        settings: as Google answers them.
    """
    html = settings.get("responseBodyHtml")
    return {
        "enabled": bool(settings.get("enableAutoReply")),
        **compact(
            {
                "subject": settings.get("responseSubject"),
                "body": html_to_text(html) if html else settings.get("responseBodyPlainText"),
                "start": moment(settings.get("startTime")) if settings.get("startTime") else None,
                "end": moment(settings.get("endTime")) if settings.get("endTime") else None,
            }
        ),
        "contacts_only": bool(settings.get("restrictToContacts")),
        "domain_only": bool(settings.get("restrictToDomain")),
    }


def described(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Say for a question what a responder is going to do.

    Args:
        before: the settings as they are.
        after: as they are to be.
    """
    row = vacation_row(after)
    if not row["enabled"]:
        was_on = before.get("enableAutoReply")
        text = "turn the vacation responder off" if was_on else "change the vacation responder, which stays off"
        known = vacation_row(before)
        changed = [name for name in {**known, **row} if name != "enabled" and known.get(name) != row.get(name)]
        return f"{text}: {', '.join(_new_value(name, row) for name in changed)}" if changed else text
    text = "let the vacation responder answer"
    text += " contacts" if row["contacts_only"] else " everybody"
    text += " in the own domain" if row["domain_only"] else ""
    text += f" from {row['start']}" if "start" in row else ""
    text += f" until {row['end']}" if "end" in row else ""
    return f"{text}: {', '.join(_new_value(name, row) for name in ('subject', 'body') if name in row)}"


def _new_value(name: str, row: Mapping[str, Any]) -> str:
    """Say in a question what a setting becomes."""
    if name in ("contacts_only", "domain_only"):
        return name.replace("_", " ") if row[name] else f"not {name.replace('_', ' ')}"
    return f"{name} {passage(str(row[name]))}" if name in row else f"no {name}"


def _check(after: Mapping[str, Any], now: float) -> None:
    start, end = _milliseconds(after, "startTime"), _milliseconds(after, "endTime")
    if start and end and start >= end:
        raise invalid("The vacation must start before it ends.")
    if not after.get("enableAutoReply"):
        return
    if not any(after.get(key, "").strip() for key in ("responseSubject", "responseBodyPlainText", "responseBodyHtml")):
        raise invalid("To be turned on, the vacation responder needs a subject or a body.")
    if end and end <= now * 1000:
        raise invalid("The vacation has ended already. Give end, or an empty text for no end.")


def _milliseconds(settings: Mapping[str, Any], key: str) -> int:
    try:
        return int(settings.get(key) or 0)
    except (TypeError, ValueError):
        return 0
