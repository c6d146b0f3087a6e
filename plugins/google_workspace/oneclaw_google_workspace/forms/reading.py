"""The tools of the group ``google_forms`` that read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.forms.responses import (
    ANSWER_CHARACTERS,
    average_score,
    fitting,
    in_order,
    questions_of,
    response_row,
    since_filter,
    tally,
)
from oneclaw_google_workspace.forms.rows import FORM_FIELDS, form_row
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_RESPONSE = "responseId,lastSubmittedTime,respondentEmail,totalScore,answers"
_PAGE = 5_000
_TALLIED = 50_000


@google_tool
async def forms_get(form_id: str, *, context: ToolContext) -> dict[str, Any]:
    """Show a form."""
    return from_outside(form_row(await read_form(connect(context), form_id)), "forms")


@google_tool
async def forms_get_responses(
    form_id: str,
    response_id: str | None = None,
    since: str | None = None,
    summarize: bool = False,
    max_results: int = 50,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Get the answers to a form."""
    google = connect(context)
    if response_id is not None and (since or summarize or page_token):
        raise invalid("response_id goes without since, summarize and page_token.")
    if summarize and page_token:
        raise invalid("A tally is of all answers; it has no pages.")
    filter_ = since_filter(since)
    form = await read_form(
        google,
        form_id,
        "formId,info(title,documentTitle),items(title,questionItem(question),questionGroupItem(questions,grid))",
    )
    info = form.get("info", {})
    answer: dict[str, Any] = {"form": info.get("title") or info.get("documentTitle", "")}
    questions = questions_of(form)
    if response_id is not None:
        response = await google.call(
            "forms.forms.responses.get", formId=form["formId"], responseId=response_id, fields=_RESPONSE
        )
        answer["responses"] = [response_row(response, questions, sys.maxsize)]
        return from_outside(answer, "answers")
    if summarize:
        return from_outside({**answer, **await _summary(google, form, filter_)}, "answers")
    page = await google.call(
        "forms.forms.responses.list",
        formId=form["formId"],
        filter=filter_,
        pageSize=max_results,
        pageToken=page_token,
        fields=f"responses({_RESPONSE}),nextPageToken",
    )
    rows = [response_row(each, questions, ANSWER_CHARACTERS) for each in in_order(page.get("responses", []))]
    shown = fitting(rows, context.shown_characters)
    answer["responses"] = rows[:shown]
    if shown < len(rows):
        # A page token stands for the end of the page, so what is left out would be lost with it.
        answer["left_out"] = (
            f"{len(rows) - shown} responses of this page are too long to be shown. Ask again with max_results {shown}"
            f"{' and the same page_token' if page_token else ''}, then go on by next_page_token."
        )
    elif page.get("nextPageToken"):
        answer["next_page_token"] = page["nextPageToken"]
    return from_outside(answer, "answers")


async def _summary(google: GoogleClient, form: dict[str, Any], filter_: str | None) -> dict[str, Any]:
    found, has_more = await google.all_items(
        "forms.forms.responses.list",
        "responses",
        fields=f"responses({_RESPONSE})",
        limit=_TALLIED,
        formId=form["formId"],
        filter=filter_,
        pageSize=_PAGE,
    )
    responses = in_order(found)
    times = [each["lastSubmittedTime"] for each in responses if each.get("lastSubmittedTime")]
    more = f"Only {_TALLIED} responses are counted; there are more." if has_more else None
    return {
        "response_count": len(responses),
        **compact(
            {
                "incomplete": more,
                "first": times[0] if times else None,
                "last": times[-1] if times else None,
                "average_score": average_score(responses),
            }
        ),
        "summary": tally(responses, questions_of(form)),
    }


async def read_form(google: GoogleClient, text: str, fields: str = FORM_FIELDS) -> dict[str, Any]:
    """Ask Google for a form.

    Args:
        google: the client.
        text: id or edit link.
        fields: what is wanted; with ``formId``.

    Raises:
        GoogleError: it did not work out.
    """
    if "/d/e/" in text or "forms.gle/" in text:
        raise invalid("This is a link for respondents, with another id. Give the form's id or its edit link.")
    try:
        return await google.call("forms.forms.get", formId=file_id(text, "form_id"), fields=fields)
    except GoogleError as error:
        if error.status != 404:
            raise
        raise GoogleError(
            error.error_type,
            f"{error} The id in a link for respondents (/forms/d/e/...) is another; the edit link has this one.",
            status=error.status,
            reasons=error.reasons,
        ) from None
