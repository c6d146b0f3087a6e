"""The tools of the group ``google_forms`` that change something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import find_folder, in_folder, move_into
from oneclaw_google_workspace.forms.changes import FormChange, plan_change, settings_request
from oneclaw_google_workspace.forms.questions import check_questions, create_requests
from oneclaw_google_workspace.forms.reading import read_form
from oneclaw_google_workspace.forms.rows import edit_link, publish_row, questions_in
from oneclaw_google_workspace.forms.rows import is_quiz as is_quiz_form
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import counted, listing, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

Questions = list[dict[str, Any]]

_REPLIES = "replies/createItem(itemId,questionId),writeControl/requiredRevisionId"


@google_tool
async def forms_create(
    title: str,
    document_title: str | None = None,
    description: str | None = None,
    is_quiz: bool = False,
    email_collection: str | None = None,
    questions: Questions | None = None,
    publish: bool = True,
    folder_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a form or quiz."""
    google = connect(context)
    title = " ".join(title.split())
    if not title:
        raise invalid("A form needs a title.")
    check_questions(questions or (), is_quiz=is_quiz)
    folder = await find_folder(google, folder_id) if folder_id else None
    kind = "quiz" if is_quiz else "form"
    items = f" with {counted(len(questions), 'item')}" if questions else ""
    more = [f"named {quoted(document_title)} in Drive"] if document_title and document_title != title else []
    more += [f"collecting addresses of respondents: {email_collection}"] if email_collection else []
    more += [f"description {passage(description)}"] if description else []
    more += [f"items {_titles(questions)}"] if questions else []
    state = "open for answers from anyone who has its link" if publish else "not published yet"
    told = "".join(f", {words}" for words in (state, *more))
    await google.ask(f"create the {kind} {passage(title)}{items}{in_folder(folder)}{told}")
    made = await google.call(
        "forms.forms.create",
        unpublished=None if publish else True,
        body={"info": {"title": title, "documentTitle": document_title or title}},
        fields="formId,responderUri,revisionId,publishSettings",
        unclear_hint="Look for it with drive_search_files",
    )
    form_id = str(made["formId"])
    answer: dict[str, Any] = {
        "form_id": form_id,
        "title": title,
        "edit_link": edit_link(form_id),
        "responder_link": made.get("responderUri"),
        **publish_row(made),
    }
    # From here on there is a form: what goes wrong is told beside its id, so that no one makes another one.
    failures: list[dict[str, str]] = []
    requests = _first_requests(description, is_quiz, email_collection)
    if requests or questions:
        try:
            added, revision = await _add(google, made, requests, questions or [], 0)
            answer |= compact({"items": added, "revision_id": revision})
        except GoogleError as error:
            failures.append({"step": "questions and settings", "reason": str(error)})
    if folder:
        try:
            await move_into(google, form_id, folder)
            answer["folder_id"] = folder.id
        except GoogleError as error:
            failures.append({"step": "folder_id", "reason": str(error)})
    return compact({**answer, "failed": failures})


@google_tool
async def forms_add_questions(
    form_id: str, questions: Questions, index: int | None = None, *, context: ToolContext
) -> dict[str, Any]:
    """Add questions and other items to a form."""
    google = connect(context)
    form = await read_form(google, form_id)
    check_questions(questions, is_quiz=is_quiz_form(form))
    count = len(form.get("items", []))
    start = count if index is None else min(index, count)
    place = "the end" if start == count else f"place {start}"
    await google.ask(
        f"add {counted(len(questions), 'item')} at {place} of the form {listing([_title(form)])}: {_titles(questions)}"
    )
    added, revision = await _add(google, form, [], questions, start)
    return {"form_id": form["formId"], "added": added, **compact({"revision_id": revision})}


@google_tool
async def forms_update(
    form_id: str,
    title: str | None = None,
    description: str | None = None,
    is_quiz: bool | None = None,
    email_collection: str | None = None,
    published: bool | None = None,
    accepting_responses: bool | None = None,
    edit_items: list[dict[str, Any]] | None = None,
    delete_item_ids: list[str] | None = None,
    move_item_id: str | None = None,
    move_to_index: int | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change a form."""
    google = connect(context)
    change = FormChange(
        title,
        description,
        is_quiz,
        email_collection,
        published,
        accepting_responses,
        tuple(edit_items or ()),
        tuple(dict.fromkeys(delete_item_ids or ())),
        move_item_id,
        move_to_index,
    )
    change.check()
    form = await read_form(google, form_id)
    plan = plan_change(form, change)
    await google.ask(f"change the form {listing([_title(form)])}: {'; '.join([*plan.words, *plan.details])}")
    revision = form.get("revisionId")
    if plan.requests:
        _, revision = await _change(google, form, plan.requests)
    if plan.publish is not None:
        form |= await _publish(google, form, plan.publish, is_alone=not plan.requests)
    return {
        "form_id": form["formId"],
        "changed": plan.changed,
        **publish_row(form),
        **compact({"revision_id": revision}),
    }


async def _add(
    google: GoogleClient,
    form: Mapping[str, Any],
    first: Sequence[Mapping[str, Any]],
    questions: Questions,
    start: int,
) -> tuple[list[dict[str, Any]], str | None]:
    """Add questions, after some other requests; gives their rows and the new revision.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        replies, revision = await _change(google, form, [*first, *create_requests(questions, start)])
    except GoogleError as error:
        done = await _added_after_all(google, form, questions, start) if error.error_type == "conflict" else None
        if done is None:
            raise
        replies, revision = done
    made = replies[len(replies) - len(questions) :]
    rows = [
        _added(start + number, reply, question)
        for number, (reply, question) in enumerate(zip(made, questions, strict=False))
    ]
    return rows, revision


async def _change(
    google: GoogleClient, form: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], str | None]:
    """Change a form as it was read; gives the replies and the new revision.

    Raises:
        GoogleError: of the type ``conflict`` if it was changed meanwhile.
    """
    revision = form.get("revisionId")
    body: dict[str, Any] = {"requests": requests}
    if revision:
        body["writeControl"] = {"requiredRevisionId": revision}
    try:
        answer = await google.call(
            "forms.forms.batchUpdate",
            formId=form["formId"],
            body=body,
            fields=_REPLIES,
            # Sent a second time, it is refused if the first time went through.
            is_repeatable=bool(revision),
            unclear_hint="Look at the form with forms_get",
        )
    except GoogleError as error:
        if error.status != 400 or not revision:
            raise
        now = await google.call("forms.forms.get", formId=form["formId"], fields="revisionId")
        if now.get("revisionId") == revision:
            raise
        raise GoogleError(
            "conflict",
            "The form has been changed since it was read, by somebody else or by this very call. Look at it with "
            "forms_get before trying again.",
            status=error.status,
        ) from None
    return answer.get("replies", []), answer.get("writeControl", {}).get("requiredRevisionId")


async def _added_after_all(
    google: GoogleClient, before: Mapping[str, Any], questions: Questions, start: int
) -> tuple[list[dict[str, Any]], str | None] | None:
    """Find the items that a first, unconfirmed request has added; ``None`` if it has not."""
    if not questions:
        return None
    form = await read_form(google, str(before["formId"]))
    known = {item.get("itemId") for item in before.get("items", [])}
    found = form.get("items", [])[start : start + len(questions)]
    titles = [" ".join(str(question["title"]).split()) for question in questions]
    if [item.get("title", "") for item in found] != titles or any(item.get("itemId") in known for item in found):
        return None
    replies = [
        {"createItem": {"itemId": item["itemId"], "questionId": [each["questionId"] for each in questions_in(item)]}}
        for item in found
    ]
    return replies, form.get("revisionId")


async def _publish(
    google: GoogleClient, form: Mapping[str, Any], state: tuple[bool, bool], *, is_alone: bool
) -> dict[str, Any]:
    body = {
        "publishSettings": {"publishState": {"isPublished": state[0], "isAcceptingResponses": state[1]}},
        "updateMask": "publishState",
    }
    try:
        answer = await google.call(
            "forms.forms.setPublishSettings", formId=form["formId"], body=body, fields="publishSettings"
        )
    except GoogleError as error:
        if is_alone:
            raise
        raise GoogleError(
            error.error_type, f"Everything else is changed, but not whether the form is published. {error}"
        ) from None
    return answer or {"publishSettings": body["publishSettings"]}


def _first_requests(description: str | None, is_quiz: bool, email_collection: str | None) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = []
    if description:
        requests.append({"updateFormInfo": {"info": {"description": description}, "updateMask": "description"}})
    if is_quiz or email_collection:
        requests.append(settings_request(is_quiz=is_quiz or None, email_collection=email_collection))
    return requests


def _added(index: int, reply: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
    made = reply.get("createItem", {})
    return compact(
        {
            "index": index,
            "item_id": made.get("itemId"),
            "question_ids": made.get("questionId", []),
            "title": question["title"],
        }
    )


def _title(form: Mapping[str, Any]) -> str:
    info = form.get("info", {})
    return str(info.get("title") or info.get("documentTitle", ""))


def _titles(questions: Questions) -> str:
    """Name items in a question, with what can be chosen from."""
    texts = (
        ": ".join(filter(None, (str(each["title"]), str(each.get("description") or ""), _choices(each))))
        for each in questions
    )
    return listing(texts)


def _choices(question: Mapping[str, Any]) -> str:
    return ", ".join(map(str, (*(question.get("rows") or ()), *(question.get("options") or ()))))
