"""Decisions on permissions, and the log of their use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oneclaw_core.permissions import Decision, grant_in_words
from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebTable
from oneclaw_serve.pages import SitePage
from oneclaw_serve.times import shown_time

if TYPE_CHECKING:
    from oneclaw_core.permissions import Grant
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_MOST_ENTRIES = 200


async def _list(site: Site, request: WebRequest) -> WebPage:
    store = site.claw.store
    notice = ""
    grants = await store.grants()
    if request.method == "POST":
        wanted = request.form().get("grant", "")
        found = [each for each in grants if _key(each) == wanted]
        for each in found:
            await store.remove_grant(each)
        grants = await store.grants()
        notice = f"Revoked: {grant_in_words(found[0])}." if found else "This decision no longer exists."
    rows = tuple(_grant_row(each) for each in grants)
    columns = ("on", "decision", "from", "made", "last used", "change")
    log = tuple(_log_row(each) for each in await store.permission_log(_MOST_ENTRIES))
    return WebPage(
        title="Permissions",
        notice=notice,
        parts=(
            WebTable(
                columns=columns,
                rows=rows,
                title="Your decisions",
                empty="No decisions yet: tools ask, unless a permission is granted by default.",
            ),
            WebTable(
                columns=("when", "outcome", "permission", "tool", "for", "session"),
                rows=log,
                title="Granted and refused",
                empty="No tool has asked for a permission yet.",
            ),
        ),
    )


def _key(grant: Grant) -> str:
    return json.dumps(grant.key)


def _grant_row(grant: Grant) -> Any:
    decision = "granted" if grant.decision is Decision.GRANT else "denied"
    words = grant_in_words(grant)
    revoke = WebForm(submit="Revoke", about=words, hidden={"grant": _key(grant)})
    times = (shown_time(grant.created_at), shown_time(grant.last_used_at) or "never")
    return words, decision, grant.source, *times, revoke


def _log_row(use: Any) -> Any:
    outcome = f"{'granted' if use.is_granted else 'refused'} by {use.decided_by}"
    session = WebLink("open", session=use.session_id) if use.session_id else ""
    return shown_time(use.at), outcome, use.permission, use.tool_name, use.subject or use.detail, session


PAGES = (SitePage("permissions", "Permissions", _list, takes_forms=True),)
