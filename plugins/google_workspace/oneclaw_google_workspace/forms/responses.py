"""The tools of the group ``google_forms`` that read: forms, responses, and tallies."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.forms.questions import FORM_FIELDS, form_row, kind_of, questions_in
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

# A model is shown the first 30,000 characters of a result.
SHOWN_CHARACTERS = 24_000
ANSWER_CHARACTERS = 1_500
_SAMPLES = 5
_SAMPLE_CHARACTERS = 200
_COUNTED_VALUES = 30
_COUNTED = {"multiple_choice", "checkboxes", "dropdown", "scale", "rating", "grid"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question that can have been answered.

    Attributes:
        id: answers name it.
        title: unique in the form.
        kind: as the tools' parameter has it.
        options: what can be chosen, in order.
    """

    id: str
    title: str
    kind: str
    options: tuple[str, ...] = ()


def questions_of(form: Mapping[str, Any]) -> list[Question]:
    """List the questions of a form, each with a separate title.

    Args:
        form: as Google answers it.
    """
    found: list[Question] = []
    titles: set[str] = set()
    for item in form.get("items", []):
        for question in questions_in(item):
            row = question.get("rowQuestion", {}).get("title")
            plain = " ".join(str(item.get("title") or "(no title)").split())
            title = plain = f"{plain} [{row}]" if row is not None else plain
            number = 1
            while title in titles:
                number += 1
                title = f"{plain} ({number})"
            titles.add(title)
            choice = (
                item.get("questionGroupItem", {}).get("grid", {}).get("columns", question.get("choiceQuestion", {}))
            )
            options = tuple(each["value"] for each in choice.get("options", []) if "value" in each)
            found.append(Question(str(question.get("questionId", "")), title, kind_of(item), options))
    return found


def since_filter(since: str | None) -> str | None:
    """Write the filter for answers from a moment on; Google takes UTC only.

    Args:
        since: RFC 3339.

    Raises:
        GoogleError: it is no moment.
    """
    if since is None:
        return None
    try:
        moment = datetime.fromisoformat(since.strip())
        if moment.tzinfo is None:
            raise ValueError(since)
        utc = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid(
            f"since must be a moment with its zone such as 2026-03-31T08:00:00+02:00, not {since[:40]!r}."
        ) from None
    return f"timestamp >= {utc.isoformat(timespec='microseconds').replace('+00:00', 'Z')}"


def response_row(response: Mapping[str, Any], questions: Sequence[Question], limit: int) -> dict[str, Any]:
    """Make the row of a response.

    Args:
        response: as Google answers it.
        questions: of the form, in order.
        limit: of the characters of an answer.
    """
    answers = response.get("answers", {})
    known = {question.id: question.title for question in questions}
    shown: dict[str, Any] = {}
    for question_id in [*(each for each in known if each in answers), *(each for each in answers if each not in known)]:
        values = [_cut(value, limit) for value in values_of(answers[question_id])]
        title = known.get(question_id, f"(deleted question {question_id})")
        shown[title] = values[0] if len(values) == 1 else values
    row = {
        "response_id": response.get("responseId"),
        "submitted": response.get("lastSubmittedTime"),
        "email": response.get("respondentEmail"),
        "score": response.get("totalScore"),
    }
    return {**compact(row), "answers": shown}


def in_order(responses: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort responses by the time of their last submission."""
    return sorted(responses, key=lambda each: str(each.get("lastSubmittedTime", "")))


def fitting(rows: Sequence[dict[str, Any]], shown_characters: int | None) -> int:
    """Count how many of the first rows can be shown; one always can.

    Args:
        rows: of an answer.
        shown_characters: how much of the answer a model is shown, ``None`` for all of it.
    """
    most = SHOWN_CHARACTERS if shown_characters is None else min(SHOWN_CHARACTERS, shown_characters * 4 // 5)
    total = 0
    for number, row in enumerate(rows):
        total += len(json.dumps(row, ensure_ascii=False))
        if total > most and number:
            return number
    return len(rows)


def tally(responses: Sequence[Mapping[str, Any]], questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Count the answers to each question.

    Args:
        responses: in order.
        questions: of the form.
    """
    return [
        _question_tally(question, [values_of(each) for each in _answers(responses, question)]) for question in questions
    ]


def average_score(responses: Iterable[Mapping[str, Any]]) -> float | None:
    """The mean of the points that respondents got, where they were graded."""
    scores = [each["totalScore"] for each in responses if "totalScore" in each]
    return round(sum(scores) / len(scores), 2) if scores else None


def values_of(answer: Mapping[str, Any]) -> list[str]:
    """The values of an answer: texts, or the names and ids of files."""
    texts = [str(each.get("value", "")) for each in answer.get("textAnswers", {}).get("answers", [])]
    files = answer.get("fileUploadAnswers", {}).get("answers", [])
    return texts + [f"{each.get('fileName', 'file')} (file id {each.get('fileId')})" for each in files]


def _answers(responses: Iterable[Mapping[str, Any]], question: Question) -> list[Mapping[str, Any]]:
    return [each["answers"][question.id] for each in responses if question.id in each.get("answers", {})]


def _question_tally(question: Question, answered: list[list[str]]) -> dict[str, Any]:
    row: dict[str, Any] = {"question": question.title, "type": question.kind, "answered": len(answered)}
    values = [value for each in answered for value in each]
    counts = Counter(values)
    if question.kind in _COUNTED:
        # Choices that no one took are part of the result.
        ordered = {option: counts.pop(option, 0) for option in question.options}
        rest = sorted(counts.items(), key=_by_number) if not question.options else counts.most_common()
        shown = [*ordered.items(), *((_cut(value, _SAMPLE_CHARACTERS), count) for value, count in rest)]
        row["counts"] = dict(shown[:_COUNTED_VALUES])
        if len(shown) > _COUNTED_VALUES:
            row["values_not_shown"] = len(shown) - _COUNTED_VALUES
    elif values and len(counts) <= _SAMPLES < len(values):
        row["counts"] = {_cut(value, _SAMPLE_CHARACTERS): count for value, count in counts.most_common()}
    elif values:
        row["latest"] = [_cut(value, _SAMPLE_CHARACTERS) for value in values[-_SAMPLES:]]
    if question.kind in ("scale", "rating"):
        numbers = [float(value) for value in values if value.replace(".", "", 1).isdecimal()]
        row |= compact({"average": round(sum(numbers) / len(numbers), 2) if numbers else None})
    return row


def _by_number(pair: tuple[str, int]) -> tuple[int, str]:
    return (int(pair[0]) if pair[0].isdecimal() else 0, pair[0])


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


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
