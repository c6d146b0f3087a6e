"""Sessions that a service refuses for a reason that no rule explains."""

import json
from itertools import pairwise

import pytest
from how_long import some
from model_server import ModelServer, calls, status, text
from program import home, oneclaw

__all__ = ["home", "oneclaw"]


@pytest.fixture
def say(oneclaw, monkeypatch):
    """Send a message in one session, each time as a new start of the program."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")

    def run(server, message, *options):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return oneclaw("run", "--session", "x", "--model", "openai_compatible/m", *options, message)

    return run


def refuses(message, code=400):
    return status(code, body={"error": {"message": message}})


def refusing(word, code=400, message="nope", reply=None):
    """A service that refuses every request with a word in it."""

    def script(body):
        is_refused = word in json.dumps(body["messages"], ensure_ascii=False)
        return refuses(message, code) if is_refused else reply or text("fine")

    return ModelServer(script)


@pytest.mark.parametrize(
    ("code", "message"),
    some(
        [
            (400, "flagged by moderation"),
            (400, "nope"),
            (422, "Verarbeitung nicht möglich"),
            (403, "blocked by our content policy"),
        ],
        4,
    ),
)
def test_a_message_that_is_refused_does_not_go_with_later_ones(say, oneclaw, code, message):
    with refusing("forbidden", code, message) as server:
        assert say(server, "hello").status == 0
        refused = say(server, "a forbidden word")
        later = say(server, "something else")
    assert refused.status == 1
    assert message in refused.stderr
    assert "marked as not sent" in refused.stderr
    assert (later.status, later.stdout) == (0, "fine\n")
    sent = [each["content"] for each in server.bodies[-1]["messages"] if each["role"] == "user"]
    assert sent == ["hello", "something else"]
    assert "You (not sent): a forbidden word" in oneclaw("sessions", "show", "x").stdout
    exported = oneclaw("sessions", "export", "x", "--format", "json").json
    assert message in next(each["not_sent"] for each in exported["messages"] if each.get("not_sent"))


def test_a_first_message_that_is_refused_does_not_go_with_later_ones(say):
    with refusing("forbidden") as server:
        assert say(server, "a forbidden word").status == 1
        assert say(server, "hello").status == 0


def test_results_that_are_refused_are_left_out_and_the_turn_goes_on(say, home):
    (home / "workspace").mkdir(parents=True)
    page = home / "workspace" / "page.txt"
    page.write_text("a forbidden word")

    def script(body):
        if "forbidden" in json.dumps(body["messages"]):
            return refuses("nope")
        has_result = any(each["role"] == "tool" for each in body["messages"])
        return text("fine") if has_result else calls(("read_file", {"path": str(page)}))

    with ModelServer(script) as server:
        first, second = say(server, "What is in it?"), say(server, "And now?")
    assert (first.status, first.stdout) == (0, "fine\n")
    assert "left out: results of read_file" in first.stderr
    assert second.status == 0
    [result] = [each["content"] for each in server.bodies[-1]["messages"] if each["role"] == "tool"]
    assert "the model service refused it: nope" in result


@pytest.mark.long
def test_a_service_that_refuses_everything_is_asked_twice_and_the_way_out_is_named(say, oneclaw):
    with refusing("") as server:
        outcomes = [say(server, f"message {number}") for number in range(2)]
    for outcome in outcomes:
        assert outcome.status == 1
        assert "oneclaw undo --session x" in outcome.stderr
    # Once more without the message, and the second time also with both messages as one.
    assert len(server.bodies) == 6
    assert "not sent" not in oneclaw("sessions", "show", "x").stdout


@pytest.mark.long
def test_a_refusal_that_passes_costs_nothing(say, oneclaw):
    replies = [refuses("something passing"), text("probe"), text("fine")]
    with ModelServer(replies) as server:
        outcome = say(server, "hello")
    assert (outcome.status, outcome.stdout) == (0, "fine\n")
    assert "not sent" not in oneclaw("sessions", "show", "x").stdout


@pytest.mark.parametrize(
    ("code", "message"),
    some(
        [
            (500, "Jinja Exception: conversation roles must alternate user and assistant roles"),
            (400, "Expected last role User or Tool, got consecutive user messages"),
            (400, "ошибка"),
        ],
        3,
    ),
)
def test_messages_of_one_role_are_joined_where_they_must_alternate(say, monkeypatch, code, message):
    def script(body):
        roles = [each["role"] for each in body["messages"] if each["role"] != "system"]
        return refuses(message, code) if ("user", "user") in pairwise(roles) else text("fine")

    with ModelServer([status(401)]) as server:
        assert say(server, "one").status == 1
    with ModelServer(script) as server:
        second, third = say(server, "two"), say(server, "three")
    assert (second.status, third.status) == (0, 0)
    assert server.bodies[1]["messages"][-1]["content"] == "one\n\ntwo"
    assert len(server.bodies) == 3  # what was learned is remembered


def test_a_long_session_is_compacted_once_when_it_is_refused(say):
    long = "lorem ipsum " * 900

    def script(body):
        return refuses("zu viel") if len(json.dumps(body["messages"])) > 40_000 else text("short")

    with ModelServer(script) as server:
        outcomes = [say(server, f"Message {number}: {long}") for number in range(5)]
    assert [each.status for each in outcomes] == [0] * 5


def test_a_context_that_is_too_small_is_told_with_its_numbers(say):
    words = "request (5210 tokens) exceeds the available context size (4096 tokens), try increasing it"
    with refusing("", message=words) as server:
        outcome = say(server, "hello")
    assert outcome.status == 1
    assert "reads 4,096 tokens, and the request takes about 5,210" in outcome.stderr
    assert "--ctx-size" in outcome.stderr
    assert len(server.bodies) == 1


def test_a_message_behind_results_gets_an_answer_between_where_roles_must_alternate(say, home):
    (home / "workspace").mkdir(parents=True)
    page = home / "workspace" / "page.txt"
    page.write_text("a page")

    def script(body):
        roles = [each["role"] for each in body["messages"]]
        return (
            refuses("Unexpected role 'user' after role 'tool'") if ("tool", "user") in pairwise(roles) else text("ok")
        )

    with ModelServer([calls(("read_file", {"path": str(page)})), status(401)]) as server:
        assert say(server, "What is in it?").status == 1
    with ModelServer(script) as server:
        assert say(server, "And now?").status == 0
    assert [each["role"] for each in server.bodies[-1]["messages"][-3:]] == ["tool", "assistant", "user"]
