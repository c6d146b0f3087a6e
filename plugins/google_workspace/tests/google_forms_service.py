"""The stand-in's Google Forms."""

from __future__ import annotations

import copy
import re
from datetime import datetime
from typing import Any

from google_discovery import Misfit
from google_service import ApiError, Call, Service, bad_request, handles, not_found


class Forms(Service):
    """Forms by id, each with its revision and its responses; Drive knows them, too."""

    def start(self) -> None:
        self.forms: dict[str, dict[str, Any]] = {}
        self.responses: dict[str, list[dict[str, Any]]] = {}

    # Arranging

    def add(self, title: str, *items: dict[str, Any], owner: str = "ana@example.com", **values: Any) -> str:
        """Have a form, as its owner would have made it at the screen."""
        form_id = self.new_id("1form")
        self.forms[form_id] = {
            "formId": form_id,
            "info": {"title": title, "documentTitle": title},
            "responderUri": f"https://docs.google.com/forms/d/e/{self.new_id('1FAIpQL')}/viewform",
            "settings": {"emailCollectionType": "DO_NOT_COLLECT"},
            "publishSettings": {"publishState": {"isPublished": True, "isAcceptingResponses": True}},
            **values,
        }
        self.responses[form_id] = []
        self.server.services["drive"].add_google_file(title, "form", form_id, owner=owner)
        for item in items:
            self._insert(self.forms[form_id], item, len(self.items(form_id)))
        self.touch(form_id)
        return form_id

    def answer(self, form_id: str, moment: str, email: str | None = None, **answers: Any) -> str:
        """Have somebody answer; answers by title, several of checkboxes as a list.

        A name stands for the question with this title, ``_`` for a space.
        """
        response_id = self.new_id("response")
        ids = {
            item.get("title"): item["questionItem"]["question"]["questionId"]
            for item in self.items(form_id)
            if "questionItem" in item
        }
        found = {}
        for name, value in answers.items():
            question_id = ids.get(name.replace("_", " "), name)
            values = value if isinstance(value, list) else [value]
            found[question_id] = {
                "questionId": question_id,
                "textAnswers": {"answers": [{"value": str(each)} for each in values]},
            }
        response = {"responseId": response_id, "createTime": moment, "lastSubmittedTime": moment, "answers": found}
        self.responses[form_id].append({**response, **({"respondentEmail": email} if email else {})})
        return response_id

    def items(self, form_id: str) -> list[dict[str, Any]]:
        return self.forms[form_id].get("items", [])

    def titles(self, form_id: str) -> list[str]:
        return [item.get("title", "") for item in self.items(form_id)]

    def item(self, form_id: str, title: str) -> dict[str, Any]:
        return next(item for item in self.items(form_id) if item.get("title") == title)

    def touch(self, form_id: str) -> None:
        """Somebody changes a form."""
        self.forms[form_id]["revisionId"] = self.new_id("revision")

    def _find(self, call: Call, *, is_writing: bool = False) -> dict[str, Any]:
        form_id, drive = call["formId"], self.server.services["drive"]
        role = drive.access(form_id).get(call.user) if form_id in self.forms else None
        if role is None:
            raise not_found("Requested entity was")
        if is_writing and role not in ("owner", "writer"):
            raise ApiError(403, "PERMISSION_DENIED", "The caller does not have permission")
        return self.forms[form_id]

    # Forms

    @handles("forms.forms.create")
    def create(self, call: Call) -> dict[str, Any]:
        info = call.body.get("info", {})
        if call.body.keys() - {"info"} or info.keys() - {"title", "documentTitle"}:
            raise _bad("Only info.title and info.document_title can be set when creating a form.")
        if not info.get("title"):
            raise _bad("info.title is required")
        is_open = not call.get("unpublished", False)
        state = {"isPublished": is_open, "isAcceptingResponses": is_open}
        form_id = self.add(info["title"], owner=call.user, publishSettings={"publishState": state})
        self.forms[form_id]["info"] = {"documentTitle": "Untitled form", **info}
        return self.forms[form_id]

    @handles("forms.forms.get")
    def get(self, call: Call) -> dict[str, Any]:
        return self._find(call)

    @handles("forms.forms.setPublishSettings")
    def publish(self, call: Call) -> dict[str, Any]:
        form = self._find(call, is_writing=True)
        if "publishSettings" not in form:
            raise _bad("Publish settings are not supported for legacy forms.")
        state = call.body["publishSettings"]["publishState"]
        if state.keys() != {"isPublished", "isAcceptingResponses"}:
            raise _bad("Both is_published and is_accepting_responses must be set.")
        if state["isAcceptingResponses"] and not state["isPublished"]:
            raise _bad("An unpublished form cannot accept responses.")
        form["publishSettings"] = {"publishState": state}
        return {"formId": form["formId"], "publishSettings": form["publishSettings"]}

    @handles("forms.forms.batchUpdate")
    def change(self, call: Call) -> dict[str, Any]:
        form = self._find(call, is_writing=True)
        if not call.body.get("requests"):
            raise _bad("requests is required")
        if call.body.get("writeControl", {}).get("requiredRevisionId", form["revisionId"]) != form["revisionId"]:
            raise ApiError(400, "FAILED_PRECONDITION", "The required revision ID does not match the latest revision.")
        before = copy.deepcopy(form)
        replies = []
        try:
            for number, request in enumerate(call.body["requests"]):
                ((name, values),) = request.items()
                try:
                    replies.append(getattr(self, f"_{name}")(form, copy.deepcopy(values)) or {})
                except ApiError as error:
                    message = f"Invalid requests[{number}].{name}: {error.message}"
                    raise ApiError(error.status, error.reason, message) from None
        except (ApiError, Misfit):
            form.clear()
            form.update(before)
            raise
        self.touch(form["formId"])
        return {"replies": replies, "writeControl": {"requiredRevisionId": form["revisionId"]}}

    # Requests; named as Google names them

    def _createItem(self, form: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        index = values["location"].get("index")
        if index is None or not 0 <= index <= len(form.get("items", [])):
            raise _bad("location.index is required and must be within the form")
        item = self._insert(form, values["item"], index)
        ids = [each["questionId"] for each in _questions(item)]
        return {"createItem": {"itemId": item["itemId"], **({"questionId": ids} if ids else {})}}

    def _insert(self, form: dict[str, Any], item: dict[str, Any], index: int) -> dict[str, Any]:
        item = {"itemId": self.new_id("item"), **copy.deepcopy(item)}
        for question in _questions(item):
            question.setdefault("questionId", self.new_id("question"))
        _check_item(form, item)
        image = item.get("imageItem", {}).get("image")
        if image:
            del image["sourceUri"]
            image["contentUri"] = "https://lh3.example/copy"
        form.setdefault("items", []).insert(index, item)
        return item

    def _deleteItem(self, form: dict[str, Any], values: dict[str, Any]) -> None:
        form["items"].pop(_index(form, values["location"]))

    def _moveItem(self, form: dict[str, Any], values: dict[str, Any]) -> None:
        item = form["items"].pop(_index(form, values["originalLocation"]))
        target = values["newLocation"].get("index")
        if target is None or not 0 <= target <= len(form["items"]):
            raise _bad("newLocation.index must be within the form")
        form["items"].insert(target, item)

    def _updateItem(self, form: dict[str, Any], values: dict[str, Any]) -> None:
        item = form["items"][_index(form, values["location"])]
        if values["item"].get("itemId") != item["itemId"]:
            raise Misfit("the item at this place has another id, and would lose its answers")
        changed = copy.deepcopy(item)
        for path in values["updateMask"].split(","):
            source, target = values["item"], changed
            *steps, last = path.split(".")
            for step in steps:
                source, target = source.get(step, {}), target.setdefault(step, {})
            if last not in source:
                target.pop(last, None)
            else:
                target[last] = source[last]
        old, new = ([each.get("questionId") for each in _questions(each)] for each in (item, changed))
        if old != new:
            raise Misfit("questions got other ids, and would lose their answers")
        _check_item(form, changed)
        item.clear()
        item.update(changed)

    def _updateFormInfo(self, form: dict[str, Any], values: dict[str, Any]) -> None:
        for name in values["updateMask"].split(","):
            if name not in ("title", "description"):
                raise _bad(f"{name} cannot be updated")
            form["info"][name] = values["info"][name]

    def _updateSettings(self, form: dict[str, Any], values: dict[str, Any]) -> None:
        for name in values["updateMask"].split(","):
            if name == "quizSettings.isQuiz":
                is_quiz = values["settings"]["quizSettings"]["isQuiz"]
                form["settings"]["quizSettings"] = {"isQuiz": is_quiz}
                for question in [each for item in form.get("items", []) for each in _questions(item)]:
                    if not is_quiz:
                        question.pop("grading", None)
            elif name == "emailCollectionType":
                form["settings"][name] = values["settings"][name]
            else:
                raise Misfit(f"the stand-in cannot change the setting {name}")

    # Responses

    @handles("forms.forms.responses.list")
    def list_responses(self, call: Call) -> dict[str, Any]:
        form = self._find(call)
        found = list(reversed(self.responses[form["formId"]]))
        if "filter" in call.parameters:
            match = re.fullmatch(r"timestamp (>=?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)", call["filter"])
            if match is None:
                raise _bad("Invalid filter")
            moment = datetime.fromisoformat(match[2])
            found = [each for each in found if _is_after(each, moment, match[1])]
        items, following = self.page(call, found, size="pageSize", default=5000, most=5000)
        return {**({"responses": items} if items else {}), **following}

    @handles("forms.forms.responses.get")
    def get_response(self, call: Call) -> dict[str, Any]:
        form = self._find(call)
        for response in self.responses[form["formId"]]:
            if response["responseId"] == call["responseId"]:
                return {**response, "formId": form["formId"]}
        raise not_found("Requested entity was")


def _bad(message: str) -> ApiError:
    return bad_request(message, "INVALID_ARGUMENT")


def _is_after(response: dict[str, Any], moment: datetime, operator: str) -> bool:
    submitted = datetime.fromisoformat(response["lastSubmittedTime"])
    return submitted > moment or (operator == ">=" and submitted == moment)


def _index(form: dict[str, Any], location: dict[str, Any]) -> int:
    index = location.get("index")
    if index is None or not 0 <= index < len(form.get("items", [])):
        raise _bad("location.index must be within the form")
    return index


def _questions(item: dict[str, Any]) -> list[dict[str, Any]]:
    if "questionGroupItem" in item:
        return item["questionGroupItem"]["questions"]
    return [item["questionItem"]["question"]] if "questionItem" in item else []


def _check_item(form: dict[str, Any], item: dict[str, Any]) -> None:
    if "\n" in item.get("title", ""):
        raise _bad("Displayed text cannot contain newlines")
    kinds = {key for key in item if key.endswith("Item")}
    if len(kinds) != 1:
        raise _bad("An item must have exactly one kind")
    if kinds == {"imageItem"} and not (item["imageItem"]["image"].keys() & {"sourceUri", "contentUri"}):
        raise _bad("image.source_uri is required")
    is_quiz = form["settings"].get("quizSettings", {}).get("isQuiz")
    for question in _questions(item):
        if "grading" in question and not is_quiz:
            raise _bad("grading is only allowed in a quiz")
        if "grading" in question and "pointValue" not in question["grading"]:
            raise _bad("grading.point_value is required")
        _check_options(question.get("choiceQuestion", {}))
    if "questionGroupItem" in item:
        columns = item["questionGroupItem"]["grid"]["columns"]
        if columns["type"] == "DROP_DOWN" or any(each.get("isOther") for each in columns["options"]):
            raise _bad("not allowed in a grid")
        _check_options(columns)


def _check_options(choice: dict[str, Any]) -> None:
    options = choice.get("options", [])
    values = [each.get("value") for each in options if not each.get("isOther")]
    if choice and (not values or len(set(values)) < len(values) or not all(values)):
        raise _bad("duplicate or missing options")
    if any("\n" in value for value in values):
        raise _bad("Displayed text cannot contain newlines")
    if any(each.get("isOther") and ("value" in each or choice["type"] == "DROP_DOWN") for each in options):
        raise _bad("is_other cannot be set here")


SERVICE = Forms
