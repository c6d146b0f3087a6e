"""The tool ``google_find_method``."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.search import NameIndex
from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.apis import APIS
from oneclaw_google_workspace.google_api.catalogue import api_methods, resolved, schemas_of
from oneclaw_google_workspace.google_api.describing import details, summary
from oneclaw_google_workspace.google_api.harms import harm_of
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.google_api.catalogue import ApiMethod

# What people say, and Google does not.
_MORE_WORDS = {
    "calendar.acl.": "share access people permission",
    "calendar.events.": "appointment meeting",
    "chat.spaces.members.": "invite people",
    "chat.spaces.messages.": "write post",
    "docs.": "document text",
    "drive.permissions.": "share access people",
    "drive.revisions.": "version history",
    "gmail.": "mail email",
    "gmail.users.settings.delegates.": "share access mailbox",
    "people.": "contact address book",
    "people.contactGroups.": "label",
    "sheets.": "table spreadsheet",
    "slides.": "presentation deck",
    "tasks.": "to-do todo",
}


@google_tool
async def google_find_method(
    query: str,
    part: str | None = None,
    max_results: int = 8,
    *,
    context: ToolContext,  # of every tool
) -> dict[str, Any]:
    """Find methods by words, or describe one."""
    if query.strip() in api_methods():
        return details(api_methods()[query.strip()], part)
    if part:
        raise invalid("part goes with the id of a method as query, such as docs.documents.batchUpdate.")
    found = find_methods(query, max_results)
    if not found:
        raise GoogleError("not_found", f"No method fits. Use other words, or the name of an API: {', '.join(APIS)}.")
    note = None if len(found) < max_results else "There may be more: add words, or raise max_results."
    return compact({"methods": [summary(each) for each in found], "note": note})


def find_methods(query: str, limit: int) -> list[ApiMethod]:
    """Return the methods that fit best, the best first.

    Args:
        query: words in any order.
        limit: how many at most.
    """
    methods = list(api_methods().values())
    return [methods[number] for number in _index().find(query, limit)]


def method_of(method_id: str) -> ApiMethod:
    """Return the method of an id.

    Raises:
        GoogleError: there is none; the message names some that may be meant.
    """
    method = api_methods().get(method_id.strip())
    if method is None:
        close = get_close_matches(method_id, api_methods(), n=3, cutoff=0.5)
        close = close or [each.id for each in find_methods(method_id, 3)]
        hint = f"Did you mean {', '.join(close)}? " if close else ""
        raise invalid(f"There is no method {method_id[:100]!r}. {hint}Find it with google_find_method.")
    return method


@cache
def _index() -> NameIndex:
    return NameIndex((f"{method.id} {APIS[method.api].title}", _text(method)) for method in api_methods().values())


def _text(method: ApiMethod) -> str:
    words = [method.description, *method.parameters, harm_of(method.id, {}, {})]
    words += [more for beginning, more in _MORE_WORDS.items() if method.id.startswith(beginning)]
    if method.request:
        for name, field in schemas_of(method.api)[method.request].get("properties", {}).items():
            # What a batch of changes consists of says what it can do.
            inner = resolved(method.api, field["items"]) if name == "requests" else {}
            words += [name, *inner.get("properties", {})]
    return " ".join(words)
