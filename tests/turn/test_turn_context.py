"""The context of a turn before its first request: limits, tools, and the prompt kept with its session."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from stage import PlainTool, some_tools

from oneclaw_core import AgentLimits, TurnLimitError, UsageError
from oneclaw_core.config.core_settings import Settings
from oneclaw_core.contract.arguments import SessionInfo
from oneclaw_core.prompts.kept import Prompts
from oneclaw_core.tools.context import TurnScope
from oneclaw_core.turn.beginning import turn_budget
from oneclaw_core.turn.request import TurnPrompt
from oneclaw_core.turn.turn_request import TurnRequest, check_texts
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import Spending, TurnBudget
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.tools import ToolSelection


def budget_of(*, agent=None, own=None, within=None, **settings):
    persona = replace(GENERAL_ASSISTANT, limits=AgentLimits(**(agent or {})))
    request = TurnRequest(text="Hi", limits=AgentLimits(**own) if own else None, within=within)
    return turn_budget(request, persona, Settings(**settings))


def rounds_of(budget):
    taken = 0
    while budget.take_round():
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("setting", "agent", "own", "rounds"),
    [(9, None, None, 9), (9, 4, None, 4), (4, 9, None, 4), (9, 4, 2, 2), (4, 9, 9, 4), (9, None, 5, 5)],
)
def test_the_strictest_number_of_rounds_holds(setting, agent, own, rounds):
    agent, own = agent and {"max_tool_rounds": agent}, own and {"max_tool_rounds": own}
    assert rounds_of(budget_of(turn_max_tool_rounds=setting, agent=agent, own=own)) == rounds


LIMITS_OF_SPENDING = [
    ({"turn_max_tokens": 50}, {}, {}, "the setting turn_max_tokens allows 50"),
    ({"turn_max_cost": 0.5}, {}, {}, "the setting turn_max_cost allows $0.5000"),
    ({"day_max_tokens": 90}, {}, {}, "the setting day_max_tokens allows 90"),
    ({"day_max_cost": 0.9}, {}, {}, "the setting day_max_cost allows $0.9000"),
    ({}, {"turn_max_tokens": 50}, {}, "turn_max_tokens of the agent allows 50"),
    ({}, {"turn_max_cost": 0.5}, {}, "turn_max_cost of the agent allows $0.5000"),
    ({}, {}, {"turn_max_tokens": 50}, "turn_max_tokens of this message is 50"),
    ({}, {}, {"turn_max_cost": 0.5}, "turn_max_cost of this message is $0.5000"),
    # Of several, that of the message is named, else that of the agent.
    ({"turn_max_tokens": 50}, {"turn_max_tokens": 50}, {"turn_max_tokens": 50}, "turn_max_tokens of this message"),
    ({"turn_max_tokens": 50}, {"turn_max_tokens": 50}, {}, "oneclaw agents edit 'General Assistant'"),
]


@pytest.mark.parametrize(("settings", "agent", "own", "said"), LIMITS_OF_SPENDING)
def test_each_limit_of_spending_holds(settings, agent, own, said):
    budget = budget_of(agent=agent, own=own, **settings)
    assert budget.limits_days == any(name.startswith("day") for name in settings)
    less, all_of_it = TokenUsage(input_tokens=48, output_tokens=1), TokenUsage(output_tokens=1)
    budget.add(less, 0.49)
    assert budget.exceeded(Spending(tokens=89, cost=0.89)) is None
    budget.add(all_of_it, 0.01)
    assert said in budget.exceeded(Spending(tokens=90, cost=0.9))


def test_a_turn_within_a_call_takes_from_the_budget_of_the_turn_around_it():
    outer = TurnBudget((), 3)
    budget = budget_of(within=SimpleNamespace(turn=TurnScope(outer, None, "local/llama")))
    assert rounds_of(budget) == 3
    budget.add(TokenUsage(input_tokens=7), None)
    assert outer.spent.tokens == 7


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"text": "Hi", "session": 1}, "session must be a text or None, not int"),
        ({"text": "Hi", "agent": b"a"}, "agent must be a name, an Agent or None, not bytes"),
        ({"text": "Hi", "model": []}, "model must be PROVIDER/MODEL, None, or an object"),
        ({"text": "Hi", "command": 1.5}, "command must be a text or None, not float"),
        ({"text": "Hi", "task": {}}, "task must be a text or None, not dict"),
        ({"text": "Hi", "reasoning": "loud"}, "reasoning is one of off, low, medium, high, not 'loud'"),
        ({"text": "Hi", "reasoning": "é" * 200}, f"reasoning is one of off, low, medium, high, not '{chr(92)}xe9"),
    ],
)
def test_what_no_turn_can_answer_is_refused(message, said):
    with pytest.raises(UsageError) as caught:
        TurnRequest(**message).checked()
    assert str(caught.value).startswith(said)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "message",
    [
        {"text": "Hi"},
        {"command": "recap"},
        {"text": "Hi", "reasoning": "low"},
    ],
)
def test_what_a_turn_can_answer_passes(message):
    TurnRequest(**message).checked()


def test_agents_run_one_another_two_deep_at_most():
    budget = TurnBudget((), 1)
    first = SimpleNamespace(turn=TurnScope(budget))
    second = SimpleNamespace(turn=TurnScope(budget, first))
    third = SimpleNamespace(turn=TurnScope(budget, second))
    TurnRequest(text="Hi", within=second).checked()
    with pytest.raises(TurnLimitError, match=r"^agents run one another at most 2 deep: do this in the turn itself$"):
        TurnRequest(text="Hi", within=third).checked()


def test_texts_may_be_left_out():
    check_texts(session=None, agent="General Assistant")


class KeptPrompts:
    """Parts of a home with a session whose prompt is kept, and one section of a plugin."""

    def __init__(self):
        self.registry = some_tools()
        self.refreshed = 0
        self.kept = None

    def prompt(self, agent=GENERAL_ASSISTANT, **options):
        async def refresh():
            self.refreshed += 1

        async def current(session):
            return ()

        async def sections(session):
            assert session.id == "s"
            return "The section of now."

        async def kept(session_id):
            assert session_id == "s"
            return self.kept

        prompts = Prompts(
            SimpleNamespace(kept_sections=kept),
            self.registry,
            SimpleNamespace(current_sections=current, prompt_sections=sections),
            SimpleNamespace(refresh=refresh),
        )
        return asyncio.run(prompts.of(SessionInfo(id="s", agent=agent.name), agent, **options))

    def keep(self, prompt, text="The kept section."):
        self.kept = SimpleNamespace(text=text, lists=None if prompt is None else prompt.lists())


NARROW = replace(GENERAL_ASSISTANT, selection=ToolSelection(groups=frozenset({"pdf"})))


def test_a_session_keeps_its_prompt_and_is_told_what_is_new():
    prompts = KeptPrompts()
    begun = prompts.prompt()
    assert (begun.sections, begun.toolset, begun.news) == ("The section of now.", "", "")
    assert begun.shown == begun.told
    assert prompts.refreshed == 1

    prompts.keep(begun)
    same = prompts.prompt()
    assert (same.sections, same.shown, same.told, same.news) == ("The kept section.", begun.shown, begun.told, "")

    prompts.registry.unregister("echo")
    told = prompts.prompt()
    assert (told.sections, told.shown) == ("The kept section.", begun.shown)
    assert "- echo" not in told.told["tools"]
    assert told.news.endswith("No longer in Tools: echo")
    prompts.keep(told)
    assert (prompts.prompt().shown, prompts.prompt().news) == (begun.shown, "")


@pytest.mark.parametrize(
    ("agent", "options", "sections"),
    [
        (GENERAL_ASSISTANT, {"is_new": True}, "The section of now."),
        (GENERAL_ASSISTANT, {"is_cached": False}, "The kept section."),
        (NARROW, {}, "The kept section."),
    ],
)
def test_without_a_cached_prompt_the_lists_of_now_are_sent(agent, options, sections):
    prompts = KeptPrompts()
    prompts.keep(prompts.prompt())
    prompts.registry.register(PlainTool("abacus", None))
    prompt = prompts.prompt(agent, **options)
    assert (prompt.sections, prompt.news) == (sections, "")
    assert prompt.shown == prompt.told
    assert "- abacus" in prompt.shown["tools"]
    assert prompt.toolset == ("" if agent is GENERAL_ASSISTANT else prompts.prompt(NARROW, is_new=True).toolset)


SELECTIONS = [
    ToolSelection(frozenset()),
    ToolSelection(frozenset({"a"})),
    ToolSelection(frozenset({"b"})),
    ToolSelection(None, frozenset({"a"})),
    ToolSelection(None, frozenset({"a", "b"})),
    ToolSelection(frozenset({"a"}), frozenset({"a"})),
    ToolSelection(None, frozenset({"a"}), ToolSelection(frozenset({"a"}))),
    ToolSelection(None, frozenset({"a"}), ToolSelection(frozenset({"b"}))),
]


def test_a_prompt_is_kept_for_one_selection_of_tools():
    prompts = KeptPrompts()
    toolsets = [prompts.prompt(replace(GENERAL_ASSISTANT, selection=each)).toolset for each in SELECTIONS]
    assert len(set(toolsets)) == len(SELECTIONS)
    names = [f"tool{number}" for number in range(50)]
    first, second = (replace(NARROW, selection=ToolSelection(frozenset(each))) for each in (names, names[::-1]))
    assert prompts.prompt(first).toolset == prompts.prompt(second).toolset


GIVEN = {"tool groups": "- pdf: Zählt Seiten", "tools": "## Tools\n- clock"}


def test_a_prompt_is_written_once_and_as_it_reads():
    assert json.loads(TurnPrompt("", "all", GIVEN, GIVEN).lists()) == {"toolset": "all", "shown": GIVEN}
    written = TurnPrompt("", "all", GIVEN, {}).lists()
    assert json.loads(written) == {"toolset": "all", "shown": GIVEN, "told": {}}
    assert "Zählt Seiten" in written


@pytest.mark.parametrize(
    "lists",
    [
        None,
        "no JSON",
        "[]",
        "null",
        "{}",
        json.dumps({"toolset": ""}),
        json.dumps({"shown": GIVEN}),
        json.dumps({"toolset": "", "shown": []}),
        json.dumps({"toolset": "", "shown": {"tools": ""}}),
        json.dumps({"toolset": "", "shown": {"tool groups": ""}}),
        json.dumps({"toolset": "", "shown": {**GIVEN, "more": 1}}),
        json.dumps({"toolset": "", "shown": GIVEN, "told": "all"}),
        json.dumps({"toolset": "", "shown": GIVEN, "told": {"tools": ""}}),
        json.dumps({"toolset": "", "shown": GIVEN, "told": {**GIVEN, "tools": None}}),
    ],
)
def test_lists_that_another_version_kept_give_way_to_those_of_now(lists):
    prompts = KeptPrompts()
    now = prompts.prompt().shown
    prompts.kept = SimpleNamespace(text="The kept section.", lists=lists)
    prompt = prompts.prompt()
    assert (prompt.sections, prompt.shown, prompt.told, prompt.news) == ("The kept section.", now, now, "")
