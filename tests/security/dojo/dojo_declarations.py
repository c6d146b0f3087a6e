"""Declarations of AgentDojo's tools: what the results hold, and which permission a call needs for whom.

A declaration says what the author of such a plugin would say without knowing any attack. Results hold text from outside
wherever other people can write a part of them: mails, events, shared files, messages, reviews, transactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Arguments = dict[str, Any]

OUTSIDE, PRIVATE = ("outside",), ("private",)
BOTH = (*OUTSIDE, *PRIVATE)


@dataclass(frozen=True)
class Declaration:
    """Declaration of one tool.

    Attributes:
        permissions: all that a call may need, each once a call; ``SERVICE.HARM``.
        reads: what the results hold, see ``ToolDefinition.reads``.
        harm: chooses one of the permissions by the arguments; by default the first.
        subject: whom or what a call is for; ``None`` where nothing narrows the permission.
        is_web: True for a request to a URL in the argument ``url``, with the argument ``content`` as its body.
    """

    permissions: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    harm: Callable[[Arguments], str] | None = None
    subject: Callable[[Arguments], str] | None = None
    is_web: bool = False

    @property
    def is_visit(self) -> bool:
        """True if it asks for a page and sends nothing."""
        return self.is_web and bool(self.reads)

    def permission(self, arguments: Arguments) -> str | None:
        """Return the permission that a call needs."""
        return self.harm(arguments) if self.harm is not None else next(iter(self.permissions), None)


def _reading(service: str, reads: tuple[str, ...], *names: str) -> dict[str, Declaration]:
    return {name: Declaration((f"{service}.read",), reads) for name in names}


def _of(*arguments: str) -> Callable[[Arguments], str]:
    def subject(given: Arguments) -> str:
        values = [given.get(name) for name in arguments]
        flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
        return ", ".join(str(each) for each in flat if each is not None)

    return subject


def _event_harm(arguments: Arguments) -> str:
    return "calendar.send" if arguments.get("participants") else "calendar.write"


DECLARATIONS: dict[str, Declaration] = {
    # Mail
    **_reading("mail", BOTH, "get_unread_emails", "get_sent_emails", "get_received_emails", "get_draft_emails"),
    **_reading("mail", BOTH, "search_emails", "search_contacts_by_name", "search_contacts_by_email"),
    "send_email": Declaration(("mail.send",), subject=_of("recipients", "cc", "bcc")),
    "delete_email": Declaration(("mail.delete",), subject=_of("email_id")),
    # Calendar
    **_reading("calendar", BOTH, "search_calendar_events", "get_day_calendar_events"),
    "get_current_day": Declaration(),
    "create_calendar_event": Declaration(
        ("calendar.write", "calendar.send"), harm=_event_harm, subject=_of("participants")
    ),
    # They mail the participants of the event.
    "cancel_calendar_event": Declaration(("calendar.delete",), subject=_of("event_id")),
    "reschedule_calendar_event": Declaration(("calendar.send",), subject=_of("event_id")),
    "add_calendar_event_participants": Declaration(("calendar.send",), subject=_of("participants")),
    # Files
    **_reading("drive", BOTH, "search_files_by_filename", "get_file_by_id", "list_files", "search_files"),
    "append_to_file": Declaration(("drive.write",), subject=_of("file_id")),
    "create_file": Declaration(("drive.write",), subject=_of("filename")),
    "delete_file": Declaration(("drive.delete",), subject=_of("file_id")),
    "share_file": Declaration(("drive.share",), subject=_of("email")),
    # Banking
    **_reading("bank", PRIVATE, "get_iban", "get_balance", "get_user_info"),
    **_reading("bank", BOTH, "get_most_recent_transactions", "get_scheduled_transactions"),
    "read_file": Declaration(("documents.read",), BOTH),
    "send_money": Declaration(("bank.spend",), subject=_of("recipient")),
    "schedule_transaction": Declaration(("bank.spend",), subject=_of("recipient")),
    "update_scheduled_transaction": Declaration(("bank.spend",), subject=_of("id", "recipient")),
    "update_password": Declaration(("bank.write",)),
    "update_user_info": Declaration(("bank.write",)),
    # Slack
    **_reading("slack", BOTH, "get_channels", "read_channel_messages", "read_inbox", "get_users_in_channel"),
    "send_direct_message": Declaration(("slack.send",), subject=_of("recipient")),
    "send_channel_message": Declaration(("slack.send",), subject=_of("channel")),
    "add_user_to_channel": Declaration(("slack.share",), subject=_of("user", "channel")),
    "invite_user_to_slack": Declaration(("slack.share",), subject=_of("user", "user_email")),
    "remove_user_from_slack": Declaration(("slack.delete",), subject=_of("user")),
    # The web
    "get_webpage": Declaration(("network.public",), OUTSIDE, is_web=True),
    "post_webpage": Declaration(("network.public",), is_web=True),
    # Travel
    "get_user_information": Declaration(("traveller.read",), PRIVATE),
    **{
        name: Declaration(reads=OUTSIDE)
        for name in (
            "get_all_hotels_in_city",
            "get_hotels_prices",
            "get_rating_reviews_for_hotels",
            "get_hotels_address",
            "get_all_restaurants_in_city",
            "get_cuisine_type_for_restaurants",
            "get_restaurants_address",
            "get_rating_reviews_for_restaurants",
            "get_dietary_restrictions_for_all_restaurants",
            "get_contact_information_for_restaurants",
            "get_price_for_restaurants",
            "check_restaurant_opening_hours",
            "get_all_car_rental_companies_in_city",
            "get_car_types_available",
            "get_rating_reviews_for_car_rental",
            "get_car_fuel_options",
            "get_car_rental_address",
            "get_car_price_per_day",
            "get_flight_information",
        )
    },
    "reserve_hotel": Declaration(("travel.spend",), subject=_of("hotel")),
    "reserve_car_rental": Declaration(("travel.spend",), subject=_of("company")),
    "reserve_restaurant": Declaration(("travel.spend",), subject=_of("restaurant")),
}
