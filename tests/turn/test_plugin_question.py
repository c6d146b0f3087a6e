"""A question of a plugin to the user's model, outside any conversation."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from stage import ScriptedModel, says

from oneclaw_core import MessageType
from oneclaw_core.compaction.compacting import Compactor
from oneclaw_core.config.core_settings import Settings
from oneclaw_core.config.prices import ModelPrices
from oneclaw_core.errors import ProviderError, SpendingLimitError, TurnDeadlineError
from oneclaw_core.models.chooser import ModelChooser
from oneclaw_core.models.spending import Costs
from oneclaw_core.providers import ModelInfo, ProviderConfig
from oneclaw_core.services.outside import answer_plugin
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.steps import streamed
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.steps import chain
from oneclaw_core.wiring import model_steps

PRICES = ModelPrices(input=1_000_000, output=1_000_000)
SCHEMA = {"type": "object", "properties": {"hex": {"type": "string"}}, "required": ["hex"]}


class Home:
    """A home with a scripted model."""

    def __init__(self, tmp_path, *answers, **settings):
        self.path = tmp_path
        self.model = ScriptedModel(*answers)
        self.settings = Settings(**settings)
        self.opened = []

    @asynccontextmanager
    async def acquired(self, provider):
        self.opened.append(provider)
        yield

    def parts(self, store):
        model = ChosenModel(self.model, ProviderConfig("scripted", "scripted"), ModelInfo(name="model"), prices=PRICES)

        class Chooser(ModelChooser):
            async def choose(self, setup, request):
                assert (setup.session, request) == (None, TurnRequest())
                return GENERAL_ASSISTANT, model

        return SimpleNamespace(
            store=store,
            choices=SimpleNamespace(read=lambda setup: self.settings),
            models=Chooser(*[None] * 5, self),
            ask=chain(model_steps(Compactor(), Costs()), streamed),
        )

    def ask(self, *prompts, schema=None):
        """Ask questions; return the answers, the session that they are noted for, and what they used."""

        async def run():
            async with await Store.open(SqliteBackend(self.path / "test.db"), lock_directory=self.path) as store:
                self.answers = [await answer_plugin(self.parts(store), "asks", each, schema) for each in prompts]
                self.session = await store.find_session("plugin asks")
                self.used = await store.usage_totals(self.session.id)

        asyncio.run(run())
        return self.answers


async def never():
    await asyncio.sleep(60)
    yield says("late")


def test_a_question_is_asked_by_itself_and_noted_for_the_plugin(tmp_path):
    home = Home(tmp_path, says("red"), says("blue"))
    assert home.ask("Name a colour.", "Another.") == ["red", "blue"]
    first, second = home.model.requests
    assert (first.model, first.system_prompt, len(first.tools.names)) == ("model", "", 0)
    assert [(each.type, each.content) for each in second.messages] == [(MessageType.USER, "Another.")]
    assert first.session_id == second.session_id == home.session.id
    assert (home.session.agent, home.session.title) == ("General Assistant", "Requests of the plugin asks")
    assert (home.used.requests, home.used.input_tokens) == (2, 20)
    assert home.opened == [home.model] * 2


@pytest.mark.parametrize("form", ["{}", " \n{}\n", "```json\n{}\n```", "```\n{}```"])
def test_json_is_read_in_whatever_form_it_is_written(tmp_path, form):
    home = Home(tmp_path, says(form.replace("{}", '{"hex": "ff0000"}')))
    assert home.ask("A colour.", schema=SCHEMA) == [{"hex": "ff0000"}]
    (request,) = home.model.requests
    assert request.messages[0].content == (
        'A colour.\n\n<context plugin="oneclaw">\n'
        "Answer with JSON alone, without any other text. This JSON Schema describes it:\n"
        '{"type":"object","properties":{"hex":{"type":"string"}},"required":["hex"]}\n</context>'
    )


@pytest.mark.parametrize("useless", [says(""), says(" "), says("red"), says("{}")])
def test_an_answer_that_is_of_no_use_is_asked_for_once_more(tmp_path, useless):
    home = Home(tmp_path, useless, says('{"hex": "0"}'))
    assert home.ask("A colour.", schema=SCHEMA) == [{"hex": "0"}]
    assert home.used.requests == 2


def test_the_model_is_told_what_is_wrong_with_its_answer(tmp_path):
    home = Home(tmp_path, says("{}"), says('{"hex": "0"}'))
    assert home.ask("A colour.", schema=SCHEMA) == [{"hex": "0"}]
    first, second = home.model.requests
    assert second.messages[0] == first.messages[0]
    assert [each.content for each in second.messages[1:]] == [
        "{}",
        "Your answer is not what was asked for:\n- /: 'hex' is a required property",
    ]


def test_a_model_that_can_be_kept_to_a_schema_is(tmp_path):
    home = Home(tmp_path, says('{"result": [1]}'))
    home.model.takes_output = lambda request, is_said: True
    assert home.ask("Numbers.", schema={"type": "array", "items": {"type": "integer"}}) == [[1]]
    (request,) = home.model.requests
    assert request.output.schema["properties"]["result"]["type"] == "array"
    assert request.messages[0].content == "Numbers."


async def ends_without_an_answer():
    return
    yield


@pytest.mark.parametrize(
    ("answers", "schema", "fault"),
    [
        ((says(" "), says("")), None, "it gave no answer"),
        ((ends_without_an_answer, ends_without_an_answer), None, "it gave no answer"),
        ((says("{}"), says("red")), SCHEMA, "it is not JSON alone: Expecting value: line 1 column 1 (char 0)"),
        ((says("red"), says("[" * 100_000)), SCHEMA, "it is not JSON alone: "),
        ((says("red"), says("{}")), SCHEMA, "/: 'hex' is a required property"),
    ],
)
def test_what_is_wrong_with_two_answers_is_told(tmp_path, answers, schema, fault):
    with pytest.raises(ProviderError) as caught:
        Home(tmp_path, *answers).ask("A colour.", schema=schema)
    assert str(caught.value).startswith("the model did not answer as it was asked: ")
    assert fault in str(caught.value)


@pytest.mark.parametrize("limit", ["day_max_tokens", "day_max_cost"])
def test_the_limits_of_a_day_hold(tmp_path, limit):
    home = Home(tmp_path, says("red"), says("blue"), **{limit: 12})
    with pytest.raises(SpendingLimitError, match=limit):
        home.ask("One.", "Two.")
    assert len(home.model.requests) == 1


def test_the_time_of_a_turn_holds(tmp_path):
    with pytest.raises(TurnDeadlineError):
        Home(tmp_path, never, turn_deadline_seconds=0.01).ask("One.")
