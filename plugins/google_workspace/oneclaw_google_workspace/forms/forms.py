"""Forms as a model reads them: questions as items, responses and tallies, and the tools that read."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, file_id, from_outside, google_tool
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

CHOICES = {"multiple_choice": "RADIO", "checkboxes": "CHECKBOX", "dropdown": "DROP_DOWN"}
# What has a question; the others only show something.
_QUESTIONS = {*CHOICES, "short_text", "paragraph", "scale", "rating", "date", "time"}
_ONLY_FOR = {
    "options": {*CHOICES, "grid"},
    "allow_other": {"multiple_choice", "checkboxes"},
    "shuffle": {*CHOICES, "grid"},
    "low": {"scale"},
    "high": {"scale", "rating"},
    "low_label": {"scale"},
    "high_label": {"scale"},
    "rating_icon": {"rating"},
    "include_time": {"date"},
    "include_year": {"date"},
    "duration": {"time"},
    "rows": {"grid"},
    "grid_checkboxes": {"grid"},
    "points": _QUESTIONS,
    "correct_answers": _QUESTIONS,
    "media_url": {"image", "video"},
    "required": {*_QUESTIONS, "grid"},
}
_DEFAULTS: dict[str, Any] = {"low": 1, "high": 5, "rating_icon": "STAR", "include_year": True}
_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_YOUTUBE = re.compile(r"https?://([\w-]+\.)*(youtube\.com|youtu\.be)/\S+", re.IGNORECASE)
_ITEM = (
    "itemId,title,description,questionItem(question),questionGroupItem(questions,grid),pageBreakItem,textItem,"
    "imageItem(image/altText),videoItem(video/youtubeUri)"
)
FORM_FIELDS = (
    "formId,info(title,documentTitle,description),revisionId,responderUri,linkedSheetId,"
    "settings(quizSettings/isQuiz,emailCollectionType),publishSettings/publishState(isPublished,isAcceptingResponses),"
    f"items({_ITEM})"
)
# Google's word for a kind of question, and ours.
_KINDS = {
    "scaleQuestion": "scale",
    "ratingQuestion": "rating",
    "dateQuestion": "date",
    "timeQuestion": "time",
    "fileUploadQuestion": "file_upload",
}
_SHOWS = {"pageBreakItem": "section", "textItem": "text", "imageItem": "image", "videoItem": "video"}
_SHOWN_OPTIONS = 60
# A model is shown the first 30,000 characters of a result.
SHOWN_CHARACTERS = 24_000
ANSWER_CHARACTERS = 1_500
_SAMPLES = 5
_SAMPLE_CHARACTERS = 200
_COUNTED_VALUES = 30
_COUNTED = {"multiple_choice", "checkboxes", "dropdown", "scale", "rating", "grid"}


def check_questions(questions: Sequence[Mapping[str, Any]], *, is_quiz: bool) -> None:
    """Refuse what cannot be part of a form.

    Args:
        questions: as in the tools' parameter.
        is_quiz: whether there can be grading.

    Raises:
        GoogleError: one of them does not go together; the message says which.
    """
    for number, question in enumerate(questions, 1):
        where = f"Question {number} ({_line(question['title'])[:60]!r})"
        kind = question["type"]
        for name, kinds in _ONLY_FOR.items():
            is_given = question.get(name, _DEFAULTS.get(name)) not in (_DEFAULTS.get(name), None, False, [], "")
            if is_given and kind not in kinds:
                raise invalid(f"{where} is of the type {kind}, which has no {name}.")
        if kind in _ONLY_FOR["options"]:
            _check_texts(where, "options", question.get("options"))
        if kind == "grid":
            _check_texts(where, "rows", question.get("rows"))
        if kind == "scale" and question.get("low", 1) >= question.get("high", 5):
            raise invalid(f"{where}: high must be above low.")
        if kind == "image" and not _WEB.fullmatch(question.get("media_url") or ""):
            raise invalid(f"{where} needs media_url, the public address of an image.")
        if kind == "video" and not _YOUTUBE.fullmatch(question.get("media_url") or ""):
            raise invalid(f"{where} needs media_url, a link to YouTube.")
        _check_grading(where, question, is_quiz=is_quiz)


def item_of(question: Mapping[str, Any]) -> dict[str, Any]:
    """Make the item of a form.

    Args:
        question: a checked one.
    """
    kind = question["type"]
    item: dict[str, Any] = compact({"title": _line(question["title"]), "description": question.get("description")})
    if kind == "section":
        return {**item, "pageBreakItem": {}}
    if kind == "text":
        return {**item, "textItem": {}}
    if kind == "image":
        return {**item, "imageItem": {"image": {"sourceUri": question["media_url"], "altText": item.get("title", "")}}}
    if kind == "video":
        return {**item, "videoItem": {"video": {"youtubeUri": question["media_url"]}}}
    required = {"required": bool(question.get("required"))}
    if kind == "grid":
        columns = {
            "type": "CHECKBOX" if question.get("grid_checkboxes") else "RADIO",
            "options": [{"value": _line(each)} for each in question["options"]],
        }
        rows = [{"rowQuestion": {"title": _line(each)}, **required} for each in question["rows"]]
        # Of a grid, Google shuffles the rows; its columns keep their order.
        order = {"shuffleQuestions": True} if question.get("shuffle") else {}
        return {**item, "questionGroupItem": {"questions": rows, "grid": {"columns": columns, **order}}}
    wanted = {**required, **_ANSWERS[kind](question), **compact({"grading": _grading(question)})}
    return {**item, "questionItem": {"question": wanted}}


def create_requests(questions: Sequence[Mapping[str, Any]], start: int) -> list[dict[str, Any]]:
    """Make the requests that put questions into a form, one behind the other.

    Args:
        questions: checked ones.
        start: the place of the first, from 0.
    """
    return [
        {"createItem": {"item": item_of(question), "location": {"index": start + number}}}
        for number, question in enumerate(questions)
    ]


def _choice(question: Mapping[str, Any]) -> dict[str, Any]:
    options: list[dict[str, Any]] = [{"value": _line(each)} for each in question["options"]]
    if question.get("allow_other"):
        options.append({"isOther": True})
    shuffle = {"shuffle": True} if question.get("shuffle") else {}
    return {"choiceQuestion": {"type": CHOICES[question["type"]], "options": options, **shuffle}}


def _scale(question: Mapping[str, Any]) -> dict[str, Any]:
    labels = compact({"lowLabel": question.get("low_label"), "highLabel": question.get("high_label")})
    return {"scaleQuestion": {"low": question.get("low", 1), "high": question.get("high", 5), **labels}}


def _rating(question: Mapping[str, Any]) -> dict[str, Any]:
    icon, levels = question.get("rating_icon", "STAR"), question.get("high", 5)
    return {"ratingQuestion": {"iconType": icon, "ratingScaleLevel": levels}}


def _date(question: Mapping[str, Any]) -> dict[str, Any]:
    parts = {"includeTime": bool(question.get("include_time")), "includeYear": question.get("include_year", True)}
    return {"dateQuestion": parts}


_ANSWERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    **dict.fromkeys(CHOICES, _choice),
    "short_text": lambda _: {"textQuestion": {"paragraph": False}},
    "paragraph": lambda _: {"textQuestion": {"paragraph": True}},
    "scale": _scale,
    "rating": _rating,
    "date": _date,
    "time": lambda question: {"timeQuestion": {"duration": bool(question.get("duration"))}},
}


def _grading(question: Mapping[str, Any]) -> dict[str, Any]:
    points, answers = question.get("points"), question.get("correct_answers")
    if not points and not answers:
        return {}
    key = {"answers": [{"value": _line(each)} for each in answers or ()]}
    # A right answer that nothing is said of is worth a point.
    return {"pointValue": 1 if points is None else points, **({"correctAnswers": key} if answers else {})}


def _check_grading(where: str, question: Mapping[str, Any], *, is_quiz: bool) -> None:
    answers = question.get("correct_answers") or []
    if (answers or question.get("points")) and not is_quiz:
        raise invalid(f"{where} has points or correct_answers, which only a quiz has: set is_quiz first.")
    if question["type"] in CHOICES:
        options = [_line(each) for each in question["options"]]
        for answer in answers:
            if _line(answer) not in options:
                raise invalid(f"{where}: the correct answer {_line(answer)[:60]!r} is none of the options.")


def _check_texts(where: str, name: str, texts: Sequence[str] | None) -> None:
    lines = [_line(each) for each in texts or ()]
    if not lines or not all(lines):
        raise invalid(f"{where} needs {name}, none of them empty.")
    for line in lines:
        if lines.count(line) > 1:
            raise invalid(f"{where} has {line[:60]!r} twice in {name}.")


def _line(text: str) -> str:
    """Titles and choices are one line for Google."""
    return " ".join(text.split())


def form_row(form: Mapping[str, Any]) -> dict[str, Any]:
    """Make the answer of ``forms_get``.

    Args:
        form: as Google answers it.
    """
    info, settings = form.get("info", {}), form.get("settings", {})
    title = info.get("title")
    document = info.get("documentTitle")
    return {
        **compact(
            {
                "form_id": form.get("formId"),
                "title": title or document,
                "document_title": document if document != title else None,
                "description": info.get("description"),
                "edit_link": edit_link(str(form.get("formId", ""))),
                "responder_link": form.get("responderUri"),
                "is_quiz": is_quiz(form),
                "email_collection": settings.get("emailCollectionType"),
                **publish_row(form),
                "linked_sheet_id": form.get("linkedSheetId"),
                "revision_id": form.get("revisionId"),
            }
        ),
        "items": [item_row(index, item) for index, item in enumerate(form.get("items", []))],
    }


def is_quiz(form: Mapping[str, Any]) -> bool:
    """Return True if there can be grading."""
    return bool(form.get("settings", {}).get("quizSettings", {}).get("isQuiz"))


def publish_state(form: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Return True if a form is published and takes answers; ``None`` for a form of the old kind, which does not say."""
    if "publishSettings" not in form:
        return None
    state = form["publishSettings"].get("publishState", {})
    return bool(state.get("isPublished")), bool(state.get("isAcceptingResponses"))


def edit_link(form_id: str) -> str:
    """Return the address of a form's editor, which Google's answers lack."""
    return f"https://docs.google.com/forms/d/{form_id}/edit"


def publish_row(form: Mapping[str, Any]) -> dict[str, Any]:
    """The same as part of an answer."""
    state = publish_state(form)
    if state is None:
        return {"published": "unknown: a form of the old kind, which the API cannot publish"}
    return {"published": state[0], "accepting": state[1]}


def item_row(index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of an item.

    Args:
        index: its place, from 0.
        item: as Google answers it.
    """
    questions = questions_in(item)
    first = questions[0] if questions else {}
    grid = item.get("questionGroupItem", {}).get("grid", {})
    choice = grid.get("columns", first.get("choiceQuestion", {}))
    options = [each.get("value", "") for each in choice.get("options", []) if not each.get("isOther")]
    scale, rating, grading = (first.get(name, {}) for name in ("scaleQuestion", "ratingQuestion", "grading"))
    rows = [each.get("rowQuestion", {}).get("title", "") for each in questions] if grid else []
    row = {
        "index": index,
        "item_id": item.get("itemId"),
        "question_ids": [each.get("questionId") for each in questions],
        "title": item.get("title"),
        "type": kind_of(item),
        "description": item.get("description"),
        "required": any(each.get("required") for each in questions) or None,
        "options": options[:_SHOWN_OPTIONS],
        "options_not_shown": len(options) - _SHOWN_OPTIONS if len(options) > _SHOWN_OPTIONS else None,
        "allow_other": any(each.get("isOther") for each in choice.get("options", [])) or None,
        "rows": rows,
        "shuffle": grid.get("shuffleQuestions") or choice.get("shuffle") or None,
        "low": scale.get("low", 0) if scale else None,
        "high": scale.get("high", rating.get("ratingScaleLevel")),
        "low_label": scale.get("lowLabel"),
        "high_label": scale.get("highLabel"),
        "points": grading.get("pointValue", 0) if grading else None,
        "correct_answers": [each.get("value") for each in grading.get("correctAnswers", {}).get("answers", [])],
        "media_url": item.get("videoItem", {}).get("video", {}).get("youtubeUri"),
    }
    return compact(row)


def questions_in(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions of an item: one, one for each row of a grid, or none."""
    if "questionGroupItem" in item:
        return list(item["questionGroupItem"].get("questions", []))
    question = item.get("questionItem", {}).get("question")
    return [] if question is None else [question]


def kind_of(item: Mapping[str, Any]) -> str:
    """Name the type of an item as the tools' parameter does."""
    for name, kind in _SHOWS.items():
        if name in item:
            return kind
    if "questionGroupItem" in item:
        return "grid"
    question = item.get("questionItem", {}).get("question", {})
    if "textQuestion" in question:
        return "paragraph" if question["textQuestion"].get("paragraph") else "short_text"
    if "choiceQuestion" in question:
        named = {google: ours for ours, google in CHOICES.items()}
        return named.get(question["choiceQuestion"].get("type", ""), "multiple_choice")
    return next((kind for name, kind in _KINDS.items() if name in question), "unknown")


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
    if shown_characters is None:
        return len(rows)
    most = min(SHOWN_CHARACTERS, shown_characters * 4 // 5)
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
