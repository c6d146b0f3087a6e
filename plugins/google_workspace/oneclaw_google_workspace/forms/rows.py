"""Forms as a model reads them; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.forms.questions import CHOICES

if TYPE_CHECKING:
    from collections.abc import Mapping

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
