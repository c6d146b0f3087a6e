"""Questions as items of a form, and forms as a model reads them; pure, without any I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def edit_link(form_id: str) -> str:
    """Return the address of a form's editor, which Google's answers lack."""
    return f"https://docs.google.com/forms/d/{form_id}/edit"


def is_quiz(form: Mapping[str, Any]) -> bool:
    """Return True if there can be grading."""
    return bool(form.get("settings", {}).get("quizSettings", {}).get("isQuiz"))


def publish_state(form: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Return True if a form is published and takes answers; ``None`` for a form of the old kind, which does not say."""
    if "publishSettings" not in form:
        return None
    state = form["publishSettings"].get("publishState", {})
    return bool(state.get("isPublished")), bool(state.get("isAcceptingResponses"))


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
