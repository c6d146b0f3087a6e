"""The changes that ``forms_update`` makes to a form; without I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.forms.rows import item_row, kind_of, publish_state, questions_in
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import listing, passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    return [*words, f"options {listing(edit['options'], 20)}"] if edit.get("options") is not None else words


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
