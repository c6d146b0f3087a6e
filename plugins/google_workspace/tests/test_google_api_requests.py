"""Requests of google_call: those that fit are what Google describes, and the others are refused unsent."""

from random import Random
from urllib.parse import urlsplit

import pytest
from google_api_arguments import random_arguments
from google_discovery import check_body, find_method, read_query
from how_long import IS_LONG, some
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.google_api.catalogue import HARMS, READ, api_methods
from oneclaw_google_workspace.google_api.finding import check_body as check_ours
from oneclaw_google_workspace.google_api.finding import checked_parameters
from oneclaw_google_workspace.methods import APIS, api_request

SETS = 100 if IS_LONG else 20


def methods_of(api):
    return [(method_id, each) for method_id, each in api_methods().items() if each.api == api]


@pytest.mark.one_python
@pytest.mark.parametrize("api", some(APIS, 5))
def test_requests_of_generated_arguments_are_what_google_describes(api):
    for method_id, method in methods_of(api):
        check_requests(method_id, method)


def check_requests(method_id, method):
    random = Random(method_id)
    for _ in range(SETS):
        given, body = random_arguments(method, random)
        check_ours(method, body or {})
        called = method.as_called(is_reading=HARMS[method_id] == READ)
        request = api_request(called, body=body, **checked_parameters(method, given))

        found = find_method(called.api.host, called.verb, urlsplit(request.target).path)
        assert found is not None, request.target
        described, in_path = found
        assert described.id == method_id
        read_query(described, in_path, urlsplit(request.target).query)
        check_body(described, body)


def _check(method, parameters, body):
    checked_parameters(method, parameters)
    check_ours(method, body)
    pytest.fail(f"{method.id} takes {parameters} and {body}")


@pytest.mark.parametrize("api", APIS)
def test_what_does_not_fit_is_refused(api):
    for method_id, method in methods_of(api):
        check_refusals(method_id, method)


def check_refusals(method_id, method):
    given, _ = random_arguments(method, Random(method_id))
    wrong = [({**given, "noSuchParameter": 1}, {}), (given, {"noSuchField": 1})]
    for name, schema in method.parameters.items():
        if schema.get("required") and name != "userId":
            wrong.append(({key: value for key, value in given.items() if key != name}, {}))
        wrong.append(({**given, name: {"an": "object"}}, {}))
    for parameters, body in wrong:
        with pytest.raises(GoogleError) as refused:
            _check(method, parameters, body)
        assert refused.value.error_type == "validation_error"


@pytest.mark.parametrize(
    ("method_id", "body", "message"),
    [
        ("calendar.acl.insert", {"role": 1}, "body.role must be string, not 1."),
        ("calendar.acl.insert", {"rolle": "reader"}, "body has no field 'rolle'; did you mean role."),
        ("calendar.acl.insert", {"scope": []}, "body.scope must be an object, not []."),
        ("people.people.createContact", {"names": {}}, "body.names must be an array of Name, not {}."),
        (
            "tasks.tasks.insert",
            {"title": "x", "webViewLink": "x"},
            "body.webViewLink cannot be set: Google alone does that.",
        ),
        ("chat.spaces.create", {"spaceType": "PARTY"}, "body.spaceType must be one of SPACE_TYPE_UNSPECIFIED, SPACE"),
        ("tasks.tasks.delete", {"title": "x"}, "tasks.tasks.delete takes no body: its parameters are task, tasklist."),
    ],
)
def test_the_message_says_where_and_what_instead(method_id, body, message):
    with pytest.raises(GoogleError) as refused:
        check_ours(api_methods()[method_id], body)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("method_id", "parameters", "message"),
    [
        ("tasks.tasks.list", {}, "tasks.tasks.list needs the parameters tasklist."),
        ("tasks.tasks.list", {"tasklist": ""}, "tasks.tasks.list needs the parameters tasklist."),
        (
            "tasks.tasks.list",
            {"tasklist": "x", "maxResults": "many"},
            "The parameter maxResults must be integer",
        ),
        ("tasks.tasks.list", {"taskList": "x"}, "tasks.tasks.list has no parameter 'taskList'; did you mean tasklist."),
        ("chat.spaces.get", {"name": "rooms/1"}, "The parameter name must be a string of the form ^spaces/[^/]+$"),
        ("drive.files.get", {"fileId": "x", "alt": "media"}, "drive.files.get has no parameter 'alt'"),
    ],
)
def test_a_wrong_parameter_is_named(method_id, parameters, message):
    with pytest.raises(GoogleError) as refused:
        checked_parameters(api_methods()[method_id], parameters)
    assert str(refused.value).startswith(message)


def test_a_body_without_end_is_refused():
    body = {}
    for _ in range(100):
        body = {"structValue": {"key": body}}
    value = {"requests": [{"createDeveloperMetadata": body}]}
    with pytest.raises(GoogleError):
        check_ours(api_methods()["sheets.spreadsheets.batchUpdate"], value)
