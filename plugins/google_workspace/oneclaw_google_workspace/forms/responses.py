"""The answers to a form as rows or as a tally; pure, without any I/O."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.forms.rows import kind_of, questions_in
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
