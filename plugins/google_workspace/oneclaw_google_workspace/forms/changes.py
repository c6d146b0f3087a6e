"""Creating forms, adding questions, and the changes of ``forms_update``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, google_tool, listing, passage, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import find_folder, in_folder, move_into
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.forms.forms import (
    check_questions,
    create_requests,
    edit_link,
    item_row,
    kind_of,
    publish_row,
    publish_state,
    questions_in,
    read_form,
)
from oneclaw_google_workspace.forms.forms import is_quiz as is_quiz_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

Questions = list[dict[str, Any]]
_REPLIES = "replies/createItem(itemId,questionId),writeControl/requiredRevisionId"


@dataclass(frozen=True, slots=True)
class FormChange:
    """The arguments of the tool; ``None`` for fields that stay."""

    title: str | None = None
    description: str | None = None
    is_quiz: bool | None = None
    email_collection: str | None = None
    published: bool | None = None
    accepting_responses: bool | None = None
    edit_items: Sequence[Mapping[str, Any]] = ()
    delete_item_ids: Sequence[str] = ()
    move_item_id: str | None = None
    move_to_index: int | None = None

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            GoogleError: it does not.
        """
        if self == FormChange():
            raise invalid("Give what to change about the form.")
        if (self.move_item_id is None) is not (self.move_to_index is None):
            raise invalid("move_item_id and move_to_index go together.")
        if self.title is not None and not self.title.strip():
            raise invalid("A form cannot be without a title.")
        if self.published is False and self.accepting_responses:
            raise invalid("A form that is not published cannot take answers.")
        edited = [str(each["item_id"]) for each in self.edit_items]
        for each in edited:
            if edited.count(each) > 1:
                raise invalid(f"The item {each[:60]} is edited twice. Put all of its changes into one entry.")
        both = {*edited, *([self.move_item_id] if self.move_item_id else [])} & set(self.delete_item_ids)
        if both:
            raise invalid(f"The item {min(both)[:60]} cannot be deleted and changed at once.")
        for edit in self.edit_items:
            if set(edit) == {"item_id"}:
                raise invalid(f"Give what to change about the item {str(edit['item_id'])[:60]}.")


@dataclass(slots=True)
class Plan:
    """A change, ready to be asked for and sent.

    Attributes:
        requests: of Google's batchUpdate, in order.
        publish: what ``published`` and ``accepting`` are to be, if they change.
        changed: what is changed, for the answer.
        words: the same for the question to the user.
        details: what comes last in the question, new values of items, so that they push nothing else out of sight.
    """

    requests: list[dict[str, Any]] = field(default_factory=list)
    publish: tuple[bool, bool] | None = None
    changed: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def add(self, name: str, words: str, *requests: dict[str, Any]) -> None:
        """Add a part of the change."""
        self.requests += requests
        self.changed.append(name)
        self.words.append(words)


def plan_change(form: Mapping[str, Any], change: FormChange) -> Plan:
    """Make the change of a form.

    Args:
        form: as it is now.
        change: a checked one.

    Raises:
        GoogleError: it cannot be made with this form.
    """
    plan = Plan()
    _texts(plan, change)
    _settings(plan, change)
    _publishing(plan, form, change)
    items = list(form.get("items", []))
    places = {item.get("itemId"): index for index, item in enumerate(items)}
    named = [*(str(each["item_id"]) for each in change.edit_items), *change.delete_item_ids]
    for item_id in [*named, *([change.move_item_id] if change.move_item_id else [])]:
        if item_id not in places:
            raise invalid(f"The form has no item {item_id[:60]!r}. forms_get lists them.")
    for edit in change.edit_items:
        index = places[edit["item_id"]]
        _edit(plan, index, items[index], edit)
    deleted = sorted({places[item_id] for item_id in change.delete_item_ids}, reverse=True)
    if deleted:
        names = listing(_name(items[index]) for index in reversed(deleted))
        # From the back, so that none of them shifts those that are yet to go.
        requests = [{"deleteItem": {"location": {"index": index}}} for index in deleted]
        plan.add("delete_item_ids", f"permanently delete {names}", *requests)
    if change.move_item_id is not None and change.move_to_index is not None:
        start = places[change.move_item_id]
        now = start - sum(index < start for index in deleted)
        target = min(change.move_to_index, len(items) - len(deleted) - 1)
        request = {"moveItem": {"originalLocation": {"index": now}, "newLocation": {"index": target}}}
        plan.add("move_item_id", f"move {listing([_name(items[start])])} to place {target}", request)
    return plan


def _texts(plan: Plan, change: FormChange) -> None:
    texts = {"title": change.title and " ".join(change.title.split()), "description": change.description}
    info = {name: text for name, text in texts.items() if text is not None}
    if info:
        plan.requests.append({"updateFormInfo": {"info": info, "updateMask": ",".join(info)}})
    for name, text in info.items():
        plan.add(name, f"set its {name} to {passage(text)}")


def _settings(plan: Plan, change: FormChange) -> None:
    # The quiz comes before items that could carry grading.
    if change.is_quiz is not None:
        request = settings_request(is_quiz=change.is_quiz)
        plan.add(
            "is_quiz", "make it a quiz" if change.is_quiz else "make it no quiz, which deletes all grading", request
        )
    if change.email_collection is not None:
        words = f"collect addresses of respondents: {change.email_collection}"
        plan.add("email_collection", words, settings_request(email_collection=change.email_collection))


def settings_request(*, is_quiz: bool | None = None, email_collection: str | None = None) -> dict[str, Any]:
    """Make the request that sets settings of a form.

    Args:
        is_quiz: whether it is one.
        email_collection: Google's word for it.
    """
    settings: dict[str, Any] = {}
    mask = []
    if is_quiz is not None:
        settings["quizSettings"] = {"isQuiz": is_quiz}
        mask.append("quizSettings.isQuiz")
    if email_collection is not None:
        settings["emailCollectionType"] = email_collection
        mask.append("emailCollectionType")
    return {"updateSettings": {"settings": settings, "updateMask": ",".join(mask)}}


def _publishing(plan: Plan, form: Mapping[str, Any], change: FormChange) -> None:
    if change.published is None and change.accepting_responses is None:
        return
    state = publish_state(form)
    if state is None:
        raise invalid("This is a form of the old kind, which the API cannot publish. The user can do it in the form.")
    is_published = state[0] if change.published is None else change.published
    is_accepting = change.accepting_responses
    if is_accepting is None:
        # A form is published to get answers; one that was closed on purpose stays closed.
        is_accepting = is_published and (state[1] or not state[0])
    if is_accepting and not is_published:
        raise invalid("The form is not published, so it cannot take answers. Give published, too.")
    plan.publish = (is_published, is_accepting)
    if change.published is not None:
        plan.changed.append("published")
    if change.accepting_responses is not None:
        plan.changed.append("accepting_responses")
    if not is_published:
        plan.words.append("take it back from the public")
    else:
        plan.words.append("publish it and take answers" if is_accepting else "publish it, closed for answers")


def _edit(plan: Plan, index: int, item: Mapping[str, Any], edit: Mapping[str, Any]) -> None:
    changed = _taken_back(item)
    mask: list[str] = []
    for name in ("title", "description"):
        if edit.get(name) is not None:
            changed[name] = " ".join(edit[name].split()) if name == "title" else edit[name]
            mask.append(name)
    if edit.get("required") is not None:
        mask.append(_set_required(changed, bool(edit["required"])))
    if edit.get("options") is not None:
        mask.append(_set_options(changed, edit["options"]))
    if edit.get("shuffle") is not None:
        mask.append(_set_shuffle(changed, bool(edit["shuffle"])))
    if not mask:
        raise invalid(f"Give what to change about the item {str(edit['item_id'])[:60]}.")
    request = {"updateItem": {"item": changed, "location": {"index": index}, "updateMask": ",".join(mask)}}
    words = f"change {listing([_name(item)])}: {', '.join(_new_values(edit))}"
    plan.requests.append(request)
    plan.details.append(words)
    if "edit_items" not in plan.changed:
        plan.changed.append("edit_items")


def _new_values(edit: Mapping[str, Any]) -> list[str]:
    """Say in a question what is to become of an item."""
    words = [f"{name} {passage(edit[name])}" for name in ("title", "description") if edit.get(name) is not None]
    if edit.get("required") is not None:
        words.append("required" if edit["required"] else "not required")
    if edit.get("options") is not None:
        words.append(f"options {listing(edit['options'], 20)}")
    if edit.get("shuffle") is not None:
        words.append("in random order" if edit["shuffle"] else "in their own order")
    return words


def _taken_back(value: Any) -> Any:
    """Copy what Google has answered without what it does not take back: links to its own copies of images."""
    if isinstance(value, dict):
        return {key: _taken_back(each) for key, each in value.items() if key != "contentUri"}
    return [_taken_back(each) for each in value] if isinstance(value, list) else value


def _set_required(item: dict[str, Any], is_required: bool) -> str:
    """Change it in an item; ids stay, for answers hang on them. Gives the mask."""
    if "questionGroupItem" in item:
        group = item["questionGroupItem"]
        questions = [{**each, "required": is_required} for each in group.get("questions", [])]
        item["questionGroupItem"] = {**group, "questions": questions}
        return "questionGroupItem.questions"
    if "questionItem" not in item:
        raise invalid(f"{_name(item)!r} is of the type {kind_of(item)}, which no one answers.")
    question = item["questionItem"]["question"]
    item["questionItem"] = {**item["questionItem"], "question": {**question, "required": is_required}}
    return "questionItem.question.required"


def _set_shuffle(item: dict[str, Any], is_shuffled: bool) -> str:
    """Change whether choices, or the rows of a grid, come in another order each time. Gives the mask."""
    if "questionGroupItem" in item:
        group = item["questionGroupItem"]
        if "grid" not in group:
            raise invalid(f"{_name(item)!r} has no rows to shuffle.")
        item["questionGroupItem"] = {**group, "grid": {**group["grid"], "shuffleQuestions": is_shuffled}}
        return "questionGroupItem.grid.shuffleQuestions"
    question = next(iter(questions_in(item)), {})
    choice = question.get("choiceQuestion")
    if choice is None:
        raise invalid(f"{_name(item)!r} is of the type {kind_of(item)}, which has nothing to shuffle.")
    new = {**choice, "shuffle": is_shuffled}
    item["questionItem"] = {**item["questionItem"], "question": {**question, "choiceQuestion": new}}
    return "questionItem.question.choiceQuestion.shuffle"


def _set_options(item: dict[str, Any], texts: Sequence[str]) -> str:
    """Change the choices of an item; what else is known of one that stays is kept. Gives the mask."""
    wanted = [" ".join(each.split()) for each in texts]
    if not all(wanted) or len(set(wanted)) < len(wanted) or not wanted:
        raise invalid(f"The options of {_name(item)!r} must be different texts, none of them empty.")
    if "questionGroupItem" in item:
        group = item["questionGroupItem"]
        columns = group.get("grid", {}).get("columns", {})
        new = {**columns, "options": _options(item, columns, wanted)}
        item["questionGroupItem"] = {**group, "grid": {**group.get("grid", {}), "columns": new}}
        return "questionGroupItem.grid.columns.options"
    question = next(iter(questions_in(item)), {})
    choice = question.get("choiceQuestion")
    if choice is None:
        raise invalid(f"{_name(item)!r} is of the type {kind_of(item)}, which has no options.")
    new = {**choice, "options": _options(item, choice, wanted)}
    item["questionItem"] = {**item["questionItem"], "question": {**question, "choiceQuestion": new}}
    return "questionItem.question.choiceQuestion.options"


def _options(item: Mapping[str, Any], choice: Mapping[str, Any], wanted: Sequence[str]) -> list[dict[str, Any]]:
    before = choice.get("options", [])
    if any("image" in each for each in before):
        raise invalid(f"The options of {_name(item)!r} have images, which the API would lose. Change them in the form.")
    known = {each.get("value"): each for each in before}
    others = [each for each in before if each.get("isOther")]
    return [*({**known.get(value, {}), "value": value} for value in wanted), *others]


def _name(item: Mapping[str, Any]) -> str:
    row = item_row(0, item)
    return str(row.get("title") or f"{row['type']} without a title")


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
