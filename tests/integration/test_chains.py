"""Chains of models against real servers: what makes the next one answer, and what the user sees of it."""

import asyncio
import json
import re
from contextlib import ExitStack

import pytest
from how_long import some
from model_server import ModelServer, hang_up_after, silence
from test_every_model import EXAMPLES, INFO, LOAD, WIRES, command, ended, of_type
from wire_formats import OTHERS, SEAL, THOUGHT

from oneclaw_core import (
    CompactedEvent,
    ModelSwitchedEvent,
    NotFoundError,
    OneClaw,
    ProviderError,
    RetryEvent,
    TextEvent,
    TurnFinishedEvent,
    UsageError,
    UsageEvent,
)
from oneclaw_core.providers import ProviderRequestError, ProviderUnavailableError
from oneclaw_core.types.messages import Attachment

FIRST, SECOND = WIRES["anthropic"], WIRES["openai"]
MODELS = [FIRST.full_model, SECOND.full_model]
QUICKLY = {"models": MODELS, "retries": 0}


class Home:
    """A home with the chain ``chain/daily``, each of whose models has a separate server."""

    def __init__(self, path, servers):
        self.path = path
        self._servers = servers
        self.environ = {"ONECLAW_DISABLED_PLUGINS": OTHERS, "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}

    def serve(self, first, second=()):
        """Start the servers of the models, which answer from scripts."""
        started = [self._servers.enter_context(ModelServer(script)) for script in (first, second)]
        self.environ |= {"ANTHROPIC_BASE_URL": started[0].url, "OPENAI_BASE_URL": started[1].url}
        return started

    def run(self, work):
        """Open the home anew, as a new process does, and do some work in it."""

        async def opened():
            async with OneClaw.open(self.path, environ=self.environ, start_directory=EXAMPLES) as claw:
                return await work(claw)

        return asyncio.run(opened())

    def compose(self, **composition):
        return self.run(lambda claw: claw.configuration.compositions.add("chain/daily", composition))

    def said(self, message="Hello", **options):
        return self.run(lambda claw: _events(claw.send_message(message, session="s", model="chain/daily", **options)))

    def resumed(self):
        return self.run(lambda claw: _events(claw.resume("s", model="chain/daily")))

    def messages(self):
        async def read(claw):
            return await claw.store.messages((await claw.store.find_session("s")).id)

        return self.run(read)


async def _events(turn):
    return [event async for event in turn]


@pytest.fixture
def home(tmp_path):
    with ExitStack() as servers:
        yield Home(tmp_path, servers)


@pytest.mark.parametrize(
    ("reply", "failure"),
    some(
        [
            (FIRST.refuses(429, "slow down", {"Retry-After": "60"}), "rate_limit"),
            (FIRST.refuses(529, "overloaded"), "overloaded"),
            (FIRST.refuses(401, "no such key"), "key"),
            (FIRST.refuses(402, "no credit"), "quota"),
            (FIRST.refuses(404, "no such model"), "model"),
            (silence(), "silence"),
            (hang_up_after(), "connection"),
        ],
        6,
    ),
    ids=some(["rate_limit", "overloaded", "key", "quota", "model", "silence", "connection"], 6),
)
def test_the_next_model_answers_and_the_failed_one_is_set_aside(home, reply, failure):
    # Another failure than silence is not taken for it, however slow the machine.
    home.compose(**QUICKLY, silence_seconds=0.5 if failure == "silence" else 30)
    first, second = home.serve([reply], [SECOND.says("Hello."), SECOND.says("Still here.")])

    events = home.said()
    assert "".join(event.text for event in of_type(TextEvent, events)) == "Hello."
    (switched,) = of_type(ModelSwitchedEvent, events)
    assert (switched.instead_of, switched.model) == tuple(MODELS)
    assert events[-1].to_dict() == {
        "event": "turn_finished",
        "session": "s",
        "text": "Hello.",
        "model": SECOND.full_model,
    }
    assert [event.model for event in of_type(UsageEvent, events)] == [SECOND.full_model]

    # The next process does not find out again.
    assert home.said()[-1].text == "Still here."
    assert (len(first.bodies), len(second.bodies)) == (1, 2)
    settings = home.run(lambda claw: claw.store.settings())
    assert settings[f"set_aside:{FIRST.full_model}"]["failure"] == failure
    assert [each.model for each in home.messages()] == [None, SECOND.full_model] * 2


def test_a_model_that_is_back_is_asked_again(home):
    home.compose(**QUICKLY)
    home.serve([FIRST.refuses(529, "overloaded"), FIRST.says("I am back.")], [SECOND.says("Hello.")])
    home.said()
    checked = ended(home.path, home.environ, "doctor").stdout
    assert re.search(rf"{FIRST.full_model} is asked last until .+ UTC \(overloaded\)", checked)
    home.run(lambda claw: claw.configuration.models.unsay(FIRST.full_model))
    assert home.said()[-1].model == FIRST.full_model


@pytest.mark.long
def test_what_another_model_would_refuse_too_is_no_reason(home):
    home.compose(**QUICKLY)
    first, second = home.serve([FIRST.refuses(400, "no")] * 2, [SECOND.says("Hello.")])
    with pytest.raises(ProviderRequestError, match="no"):
        home.said()
    assert (len(first.bodies), len(second.bodies)) == (2, 0)  # once without the message


@pytest.mark.long
def test_only_the_chosen_failures_count(home):
    home.compose(**QUICKLY, after=["rate_limit"])
    _, second = home.serve([FIRST.refuses(401, "no such key")], [SECOND.says("Hello.")])
    with pytest.raises(ProviderError, match="refuses the API key"):
        home.said()
    assert not second.bodies


@pytest.mark.long
def test_a_model_is_asked_again_before_the_next_one_is(home):
    home.compose(models=MODELS, retries=2)
    busy = FIRST.refuses(503, "busy", {"Retry-After": "0"})
    first, _ = home.serve([busy] * 5, [SECOND.says("Hello.")])
    events = home.said()
    assert events[-1].model == SECOND.full_model
    assert len(first.bodies) == 3
    assert len(of_type(RetryEvent, events)) == 2


@pytest.mark.long
def test_an_answer_that_was_begun_is_not_given_twice(home):
    home.compose(**QUICKLY)
    first, second = home.serve([FIRST.breaks_off_after("Once upon a time. " * 20)], [SECOND.says("The end.")])
    with pytest.raises(ProviderUnavailableError, match="broke off"):
        home.said("Tell me a story")
    assert not second.bodies
    _, begun = home.messages()
    assert (begun.is_incomplete, begun.model) == (True, FIRST.full_model)

    # Resuming it is visible, and asks the model that works.
    assert [event.text for event in of_type(TurnFinishedEvent, home.resumed())] == ["The end."]
    assert (len(first.bodies), len(second.bodies)) == (1, 1)


@pytest.mark.long
def test_a_turn_goes_on_with_the_next_model_and_never_goes_back(home):
    home.compose(**QUICKLY, cool_down_seconds=0)
    first, second = home.serve(
        [FIRST.calls(LOAD, thought=THOUGHT), FIRST.refuses(529, "overloaded")],
        [SECOND.calls(INFO), SECOND.says("Two pages.")],
    )
    assert home.said("How many pages?")[-1].model == SECOND.full_model
    assert (len(first.bodies), len(second.bodies)) == (2, 2)
    # The thoughts of one vendor are not sent to another.
    sent = second.contents[0].decode()
    assert "load_tool_group" in sent
    assert THOUGHT not in sent
    assert SEAL not in sent


@pytest.mark.long
def test_what_a_failed_attempt_used_counts_for_its_model(home):
    home.compose(**QUICKLY)
    home.serve([hang_up_after(FIRST.says("Hello.").pieces[0])], [SECOND.says("Hello.")])
    for price in ("input_price", "output_price"):
        home.run(lambda claw, price=price: claw.configuration.models.say(SECOND.full_model, price, "1000000"))
    lost, answered = of_type(UsageEvent, home.said())
    assert (lost.model, lost.usage.is_at_least) == (FIRST.full_model, True)
    assert (answered.model, answered.usage.is_at_least) == (SECOND.full_model, False)
    assert (lost.cost, answered.cost) == (None, SECOND.usage.input_tokens + SECOND.usage.output_tokens)
    usage = json.loads(command(home.path, "usage", "--by", "model", "--json"))
    assert {each["model"] for each in usage["rows"]} == set(MODELS)


# One without a cycle, which would be stopped.
LONG = " ".join(f"Hello {number}." for number in range(2_500))


@pytest.mark.long
def test_the_limits_of_the_model_that_is_asked_hold(home):
    home.compose(**QUICKLY)
    home.run(lambda claw: claw.configuration.models.say(SECOND.full_model, "context_window", "12000"))
    home.serve(
        [FIRST.says(LONG), FIRST.says(LONG), FIRST.refuses(529, "overloaded")],
        [SECOND.says("A summary."), SECOND.says("Hello.")],
    )
    home.said()
    home.said()
    events = home.said()
    assert [event.reason for event in of_type(CompactedEvent, events)] == ["context_window"]
    assert events[-1].model == SECOND.full_model


@pytest.mark.long
def test_a_model_that_cannot_look_at_a_file_is_passed_over(home):
    home.compose(**QUICKLY)
    home.run(lambda claw: claw.configuration.models.say(FIRST.full_model, "input_media_types", "none"))
    first, _ = home.serve([], [SECOND.says("A cat.")])
    image = Attachment("cat.gif", "image/gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;")
    assert home.said("What is this?", attachments=[image])[-1].model == SECOND.full_model
    assert not first.bodies


@pytest.mark.long
def test_when_all_fail_the_error_names_each(home):
    home.compose(**QUICKLY)
    home.serve([FIRST.refuses(401, "no such key")], [SECOND.refuses(401, "nor this one")])
    with pytest.raises(ProviderError, match="no model of chain/daily answered") as caught:
        home.said()
    assert all(name in str(caught.value) for name in MODELS)


def test_a_model_that_cannot_be_opened_is_left_out(home):
    home.compose(**QUICKLY)
    home.serve([], [SECOND.says("Hello.")])
    home.run(lambda claw: claw.configuration.providers.change("anthropic", is_enabled=False))
    assert home.said()[-1].model == SECOND.full_model
    home.run(lambda claw: claw.configuration.providers.change("openai", is_enabled=False))
    with pytest.raises(NotFoundError, match="no model of chain/daily can be asked"):
        home.said()


@pytest.mark.parametrize(
    ("models", "fault"),
    [
        (["anthropic/a", "nowhere/b"], "not a PROVIDER/MODEL of a configured provider"),
        (["anthropic/a", "chain/daily"], "no other chains"),
        (["anthropic/a"], "at least two models"),
    ],
)
def test_a_chain_that_could_not_work_is_not_added(home, models, fault):
    with pytest.raises(UsageError, match=fault):
        home.compose(models=models)
    with pytest.raises(NotFoundError, match="there is no chain chain/daily"):
        home.said()


def test_a_chain_is_added_listed_checked_and_removed(tmp_path):
    def oneclaw(*arguments):
        return ended(tmp_path, {"ONECLAW_DISABLED_PLUGINS": OTHERS, "OPENAI_API_KEY": "k"}, *arguments)

    models = [option for each in (FIRST.full_model, SECOND.full_model) for option in ("--model", each)]
    added = oneclaw("providers", "add", "chain/daily", *models, "--after", "key, silence", "--silence", "5")
    assert f"chain/daily asks {FIRST.full_model}, then {SECOND.full_model}" in added.stdout
    (listed,) = json.loads(oneclaw("models", "list", "chain", "--json").stdout)
    assert (listed["model"], listed["models"]) == ("chain/daily", MODELS)
    assert ", ".join(MODELS) in oneclaw("models", "list", "chain").stdout

    assert "chain/daily" in oneclaw("models", "default", "chain/daily").stdout
    assert f"chain/daily cannot ask {FIRST.full_model}: it has no key" in oneclaw("doctor").stdout
    refused = oneclaw("providers", "remove", "chain/daily")
    assert refused.returncode == 2
    assert "the default model chain/daily is it" in refused.stderr
    oneclaw("models", "default", "offline/rules")
    oneclaw("providers", "remove", "chain/daily")
    assert "there is no chain/daily" in oneclaw("providers", "remove", "chain/daily").stderr
    assert "chain/NAME" in oneclaw("providers", "add", "daily", "--type", "openai", *models).stderr
