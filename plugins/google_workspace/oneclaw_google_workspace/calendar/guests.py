"""The guests of an event, and changing them; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What is sent back, as Google takes lists as a whole.
_KEPT = ("email", "displayName", "optional", "resource", "additionalGuests", "responseStatus", "comment")


def addresses_of(event: Mapping[str, Any]) -> list[str]:
    """List the guests of an event but the user."""
    return [str(each.get("email", "")) for each in event.get("attendees", []) if not each.get("self")]


def changed_guests(
    event: Mapping[str, Any], added: Sequence[str], removed: Sequence[str], answer: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Make the list of guests anew.

    Args:
        event: as it is, with all that Google knows of its guests.
        added: addresses; of those who are invited already, nothing changes.
        removed: addresses.
        answer: ``responseStatus`` and ``comment`` of the user's own entry; empty for as it is.

    Raises:
        GoogleError: somebody to be removed is not invited.
    """
    if event.get("attendeesOmitted"):
        raise invalid("This event has so many guests that Google does not name them all: change them in the calendar.")
    present = {str(each.get("email", "")).casefold(): each for each in event.get("attendees", [])}
    gone = {each.casefold() for each in removed}
    if missing := [each for each in removed if each.casefold() not in present]:
        raise invalid(f"{missing[0]} is not among the guests: {', '.join(present) or 'there are none'}.")
    kept = [{**entry, **(answer if entry.get("self") else {})} for key, entry in present.items() if key not in gone]
    new = [{"email": each} for each in added if each.casefold() not in present]
    return [{key: entry[key] for key in _KEPT if key in entry} for entry in [*kept, *new]]


def own_answer(event: Mapping[str, Any], answer: Mapping[str, str]) -> dict[str, Any]:
    """Make the user's answer to an invitation, to be sent alone.

    Raises:
        GoogleError: the user is not invited.
    """
    own = next((each for each in event.get("attendees", []) if each.get("self")), None)
    if own is None:
        raise invalid("You are not among the guests of this event, so there is nothing to answer.")
    return {"email": own["email"], **answer}
