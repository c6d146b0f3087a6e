"""Messages, and tool calls of a program, in an open home."""

import asyncio
from dataclasses import asdict, replace

import pytest
from histories import assistant, call, user

from oneclaw_core import (
    Attachment,
    CompactedEvent,
    MessageType,
    NotFoundError,
    PermissionAnswer,
    SessionBusyError,
    ToolClient,
    ToolContext,
    TurnFinishedEvent,
    UsageError,
    hookimpl,
    tool,
)
from oneclaw_core.config.providers import PROVIDER_SETTING
from oneclaw_core.contract.arguments import ExpandedMessage
from oneclaw_core.sessions import BackgroundWork
from oneclaw_core.testing.scripted import ScriptedModel
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.tools import ToolSelection

IMAGE = Attachment("cat.gif", "image/gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;")


@tool(read_only=True)
async def look(context: ToolContext) -> str:
    """Look."""
    context.progress("half of it", 0.5)
    await asyncio.sleep(0)
    return context.agent_name


@tool
def put() -> str:
    """Put."""
    return "put"


@tool(required_permissions=["diary.read"])
def read_diary() -> str:
    """Read the diary."""
    return "Dear diary"


def expand_command(command):
    if command.name == "recap":
        return ExpandedMessage(f"Sum up {command.arguments or 'it'}.", ("sheep",), "the MCP server files")
    return None


class Seen:
    """A plugin with a command, which notes what it sees of turns and calls."""

    __name__ = "seen"

    def __init__(self):
        self.turns, self.calls, self.works = [], [], []

    @hookimpl
    def register_tools(self, register):
        register(look)
        register(put)
        register(read_diary)
        register(tool(lambda: "five", name="count_sheep", description="Count sheep."), group="sheep")

    @hookimpl
    def turn_started(self, turn):
        self.turns.append(turn)

    @hookimpl
    def before_tool_call(self, call):
        self.calls.append((call.tool, call.caller, call.agent))

    expand_command = staticmethod(hookimpl(expand_command))


@pytest.fixture
def seen():
    return Seen()


@pytest.fixture
def home(oneclaw_factory, seen):
    return oneclaw_factory([seen])


def rows(home, session="test"):
    found = home.run(home.app.store.find_session(session))
    return home.run(home.app.store.messages(found.id))


def called(home, name, **options):
    return home.run(home.app.call_tool(name, **options)).result


def test_a_client_that_reads_changes_nothing(home, seen):
    client = ToolClient("mcp:laptop", is_read_only=True)
    refused = called(home, "put", client=client)
    assert (refused.error_type, refused.error_message) == (
        "not_available",
        "Tool 'put' may change something, and this call is for reading alone.",
    )
    assert seen.calls == []
    assert called(home, "look", client=client).is_success
    assert called(home, "no_such_tool", client=client).error_type == "not_found"
    assert called(home, "put", client=ToolClient("mcp:laptop")).result == "put"


def test_a_client_has_its_agent_its_tools_and_its_progress(home, seen):
    told = []

    async def progress(message, fraction):
        told.append((message, fraction))

    narrow = ToolSelection(tools=frozenset({"look"}))
    client = ToolClient("page", agent="Author", selection=narrow, progress=progress)
    assert called(home, "look", client=client, caller="command line").result == "Author"
    assert told == [("half of it", 0.5)]
    assert called(home, "put", client=client).error_type == "not_available"
    assert called(home, "look", client=ToolClient("page")).result == "General Assistant"
    assert called(home, "look").result == "General Assistant"
    assert seen.calls == [
        ("look", "command line", "Author"),
        ("look", "program", "General Assistant"),
        ("look", "program", "General Assistant"),
    ]


def test_a_client_is_asked_itself_or_no_one_is(home):
    asked = []

    async def ask(request):
        asked.append((request.permission, request.agent))
        return PermissionAnswer.ONCE

    home.user.says("once")
    assert called(home, "read_diary", client=ToolClient("page", ask=ask)).result == "Dear diary"
    assert asked == [("diary.read", "General Assistant")]
    assert called(home, "read_diary", client=ToolClient("page")).error_type == "permission_denied"
    assert home.user.asked == []
    assert called(home, "read_diary").result == "Dear diary"


def test_plugins_see_whose_turn_it_is(home, seen):
    home.model.calls("look").then("Nothing.")
    home.send("Look around", session="story")
    home.run(home.app.plugins.drain(5))
    (turn,) = seen.turns
    assert (turn.session.name, turn.agent, turn.model) == ("story", "General Assistant", "scripted/model")
    assert (turn.text, turn.can_ask, turn.parent_call_id) == ("Look around", True, None)
    assert len(turn.id) == 32
    assert turn.id != turn.session.id
    assert seen.calls == [("look", "model", "General Assistant")]


def test_a_command_is_expanded_with_its_groups_and_its_origin(home):
    home.model.says("Done.").says("Again.")
    assert home.send(" my sheep ", session=None, command="recap").loaded_groups == ("sheep",)
    (session,) = home.run(home.app.store.list_sessions())
    assert session.title == "/recap my sheep"
    first, *_ = rows(home, session.id)
    assert first.content == "Sum up  my sheep ."
    assert list(first.marks) == [Mark(MarkKind.COMPOSED, ""), Mark(MarkKind.OUTSIDE, "the MCP server files")]
    home.send("", session="second", command="recap")
    assert rows(home, "second")[0].content == "Sum up it."
    assert home.run(home.app.store.find_session("second")).title == "/recap"


def test_a_command_that_no_plugin_has_is_refused(home):
    with pytest.raises(NotFoundError) as caught:
        home.send("", command="nonsense")
    assert str(caught.value).startswith(
        "no plugin has the command 'nonsense'; if it is a skill, it needs the plugin skills, which is missing: "
    )
    assert str(caught.value).endswith(" oneclaw-skills")
    assert home.run(home.app.store.list_sessions()) == []


def test_a_message_is_marked_by_what_comes_with_it(home):
    home.model.says("A cat.").says("Hello.")
    home.send("What is this?", attachments=[IMAGE])
    home.send("Hi")
    first, _, second, _ = rows(home)
    assert list(first.marks) == [
        Mark(kind, "the attached file cat.gif") for kind in (MarkKind.OUTSIDE, MarkKind.PRIVATE)
    ]
    assert (first.attachments, second.marks) == ((IMAGE,), ())
    with pytest.raises(UsageError, match="attachments must be a list of Attachment objects"):
        home.send("What is this?", attachments=["cat.gif"])


def test_an_agent_run_for_a_call_is_a_part_of_its_session_and_marked(oneclaw_factory, seen):
    answers = []

    @tool
    async def delegate(context: ToolContext) -> str:
        """Delegate."""
        async for event in oneclaw.app.send_message("Do a part", within=context):
            if isinstance(event, TurnFinishedEvent):
                answers.append(event)
        return answers[-1].text

    oneclaw = oneclaw_factory([seen])
    oneclaw.app.add_tools(delegate)
    oneclaw.model.calls("delegate").says("A part.").says("All.")
    assert oneclaw.send("Do all", session="story").text == "All."
    oneclaw.run(oneclaw.app.plugins.drain(5))
    outer, inner = seen.turns
    assert (outer.text, inner.text, inner.model) == ("Do all", "Do a part", "scripted/model")
    assert inner.session.parent_id == outer.session.id
    assert inner.session.name is None
    assert inner.parent_call_id is not None
    assert inner.can_ask
    first, *_ = rows(oneclaw, inner.session.id)
    assert first.marks == (Mark(MarkKind.COMPOSED, ""),)
    assert answers[0].session == inner.session.id


def test_resuming_needs_a_session_with_a_turn(home):
    async def resumed(session=None):
        return [event async for event in opened.resume(session)]

    opened = home.app  # before the event loop runs
    with pytest.raises(UsageError, match=r"^there is no session to resume: send a message$"):
        home.run(resumed())
    with pytest.raises(NotFoundError, match="there is no session 'tale'"):
        home.run(resumed("tale"))
    nameless = home.run(home.app.begin_session())
    home.run(home.app.begin_session("story"))
    for session in ("story", nameless.id):
        with pytest.raises(UsageError) as caught:
            home.run(resumed(session))
        assert str(caught.value) == f"session {session!r} has no turn to resume: send it a message"
    home.run(home.app.store.append(nameless.id, [user("Hi"), assistant("Hello")]))
    assert home.run(resumed()) == [TurnFinishedEvent(nameless.id, "Hello")]


def test_a_resumed_turn_answers_the_message_that_began_it(home, seen):
    session = home.run(home.app.begin_session("story", model="scripted/model"))
    home.run(home.app.store.append(session.id, [user("Look"), assistant(""), call("c1", "look")]))
    home.model.says("Nothing there.")

    async def resumed():
        return [event async for event in home.app.resume("story")]

    assert home.run(resumed())[-1] == TurnFinishedEvent("story", "Nothing there.")
    home.run(home.app.plugins.drain(5))
    assert [turn.text for turn in seen.turns] == ["Look"]


def test_a_busy_session_is_waited_for_as_long_as_the_setting_says(oneclaw_factory, seen):
    home = oneclaw_factory([seen], environ={"ONECLAW_SESSION_WAIT_SECONDS": "0.01"})
    home.model.says("Hello.")
    session = home.run(home.app.begin_session("story"))

    async def work():
        async with home.app.store.session_lock(session.id, 0):
            with pytest.raises(SessionBusyError):
                async for _ in home.app.send_message("Hi", session="story", model="scripted/model"):
                    pass
            with pytest.raises(SessionBusyError):
                await home.app.compact("story")

    home.run(work())
    assert home.send("Hi", session="story").text == "Hello."


def test_a_session_begins_with_its_agent_model_and_title(home):
    home.run(home.app.agents.create("Author", system_prompt="Write."))
    home.model.says("Once.").says("Twice.")
    home.send("Tell me a story " * 20, session="tale", agent="Author")
    home.send("Tell me another", session=None)
    named = home.run(home.app.store.find_session("tale"))
    assert (named.agent, named.model, named.parent_id) == ("Author", "scripted/model", None)
    assert named.title.startswith("Tell me a story Tell")
    assert len(named.title) <= 50
    nameless, _ = home.run(home.app.store.list_sessions())
    assert (nameless.agent, nameless.model, nameless.title) == (
        "General Assistant",
        "scripted/model",
        "Tell me another",
    )
    home.run(home.app.store.create_session(name="elsewhere", agent="Author"))
    assert home.run(home.app.store.last_used_session(str(home.project))).id == nameless.id


def test_an_agent_that_was_taken_away_leaves_its_sessions_to_the_general_assistant(home, caplog):
    home.run(home.app.store.create_session(name="orphan", agent="Gone"))
    home.model.says("Hello.")
    assert home.send("Hi", session="orphan").text == "Hello."
    assert "there is no agent 'Gone' any more; orphan goes on" not in caplog.text
    assert "there is no agent 'Gone' any more; General Assistant goes on" in caplog.text
    with pytest.raises(NotFoundError, match="Gone"):
        home.send("Hi", agent="Gone")


def test_the_model_of_an_agent_that_cannot_be_used_is_said_to_be_the_agents(home):
    home.run(home.app.agents.create("Author", system_prompt="Write.", model="scripted/model"))
    home.run(home.app.store.remove_setting(f"{PROVIDER_SETTING}scripted"))
    with pytest.raises(NotFoundError, match=r"^the model of agent 'Author' cannot be used: "):
        home.send("Hi", agent="Author")
    with pytest.raises(NotFoundError) as caught:
        home.send("Hi", model="scripted/model2")
    assert "of agent" not in str(caught.value)


def test_only_a_session_that_is_there_is_compacted(home):
    with pytest.raises(NotFoundError, match="there is no session 'tale'"):
        home.run(home.app.compact("tale"))
    with pytest.raises(UsageError, match=r"model must be PROVIDER/MODEL, None, or an object"):
        home.run(home.app.compact("tale", model=1))
    home.model.says("One.").says("Two.").says("The user counts.")
    home.send("Count.", session="story")
    assert home.run(home.app.compact("story", model="scripted/model")) is None
    home.send("Go on.", session="story")
    event = home.run(home.app.compact("story", model="scripted/model"))
    assert (event.reason, event.messages) == ("requested", 2)


def test_what_changes_in_another_process_holds_for_a_call(home):
    assert called(home, "put").is_success
    home.run(home.app.store.set_tool_enabled("tool", "put", False))
    assert called(home, "put").error_type == "not_available"


def test_the_model_is_asked_to_think_as_much_as_the_nearest_says(oneclaw_factory, seen):
    @tool
    async def delegate(context: ToolContext, agent: str) -> str:
        """Delegate."""
        *_, finished = [event async for event in home.app.send_message("Do", agent=agent, within=context)]
        return finished.text

    home = oneclaw_factory([seen])
    home.app.add_tools(delegate)
    own = {"reasoning": {"effort": 9}}
    home.run(home.app.agents.create("Thinker", system_prompt="T.", parameters={"reasoning": "high", "temperature": 0}))
    home.run(home.app.agents.create("Own", system_prompt="O.", parameters=own))
    home.model.says("1").says("2").says("3").says("4")
    for options in ({}, {"reasoning": "low"}, {"agent": "Thinker"}, {"agent": "Thinker", "reasoning": "off"}):
        home.send("Hi", session=None, **options)
    home.run(home.app.configuration.models.say("scripted/model", "reasoning", "medium"))
    home.model.says("5").says("6")
    home.send("Hi", session=None)
    home.send("Hi", session=None, agent="Own")
    asked = [(each.reasoning, dict(each.parameters)) for each in home.model.requests]
    assert asked == [
        (None, {}),
        ("low", {}),
        ("high", {"temperature": 0}),
        ("off", {"temperature": 0}),
        ("medium", {}),
        ("medium", own),
    ]
    home.model.calls("delegate", agent="General Assistant").says("7").says("8")
    home.send("Hi", session=None, reasoning="low")
    home.model.calls("delegate", agent="Thinker").says("9").says("10")
    home.send("Hi", session=None, reasoning="low")
    assert [each.reasoning for each in home.model.requests[6:]] == ["low", "low", "low", "low", "high", "low"]


def test_parameters_of_a_message_go_before_those_of_its_agent(home):
    home.run(home.app.agents.create("Precise", system_prompt="T.", parameters={"temperature": 0, "seed": 1}))
    home.run(home.app.configuration.models.say("scripted/model", "max_output_tokens", 300))
    home.model.says("1").says("2").says("3")
    home.send("Hi", session="one", agent="Precise", parameters={"temperature": 1, "top_p": 0.5}, max_output_tokens=200)
    home.send("Hi", session="one", max_output_tokens=400)
    home.send("Hi", session="one")

    asked = [(dict(each.parameters), each.max_output_tokens) for each in home.model.requests]
    own = {"temperature": 0, "seed": 1}
    assert asked == [({**own, "temperature": 1, "top_p": 0.5}, 200), (own, 300), (own, 300)]
    for wrong in ({"parameters": {"temperature": 3}}, {"max_output_tokens": 0}, {"max_output_tokens": True}):
        with pytest.raises(UsageError):
            home.send("Hi", session="one", **wrong)


def test_the_nearest_choice_of_a_model_counts(home):
    home.run(home.app.agents.create("Author", system_prompt="Write.", model="scripted/agents"))
    home.run(home.app.store.set_setting("model", "scripted/settings"))
    home.run(home.app.begin_session("mine", model="scripted/sessions"))
    home.run(home.app.begin_session("agents", agent="Author"))

    def model_for(**options):
        return home.run(home.app.preview_request(**options)).model

    assert model_for() == "scripted/settings"
    assert model_for(agent="Author") == model_for(session="agents") == "scripted/agents"
    assert model_for(session="mine") == model_for(session="mine", agent="Author") == "scripted/sessions"
    assert model_for(session="mine", model="scripted/messages") == "scripted/messages"
    home.run(home.app.store.remove_setting("model"))
    assert model_for() == "offline/rules"


def test_what_was_learned_of_a_server_is_used_for_the_same_server(home, monkeypatch):
    monkeypatch.setattr(ScriptedModel, "loads_natively", True, raising=False)

    async def learned(document):
        await home.app.store.set_setting("learned:scripted/model", document)
        chosen = await home.app.preview_request(model="scripted/model")
        return chosen.tool_loading, dict(chosen.request.left_out)

    appended = {"tool_loading": "append", "left_out": {"stream_options": "no"}}
    assert home.app is not None  # opened before the loop runs
    for document, found in (
        ({"base_url": None, **appended}, ("append", {"stream_options": "no"})),
        ({"base_url": "http://elsewhere", **appended}, ("native", {})),
        ({"base_url": None, "tool_loading": "of another version"}, ("native", {})),
        ("a text", ("native", {})),
    ):
        assert home.run(learned(document)) == found


@tool
async def name_it(context: ToolContext) -> str:
    """Ask for a name."""
    return str(await context.ask_user("What is its name?"))


def test_who_sends_a_message_can_be_asked_instead_of_the_home(home):
    asked = []

    async def ask(request):
        asked.append(request.permission)
        return PermissionAnswer.ONCE

    async def ask_user(question):
        asked.append(question.question)
        return "Bob"

    home.app.add_tools(name_it)
    home.model.calls("read_diary").also_calls("name_it").then("Done.")
    diary, name = home.send("Read it", ask=ask, ask_user=ask_user).tool_calls
    assert {diary.result.result, name.result.result} == {"Dear diary", "Bob"}
    assert sorted(asked) == ["What is its name?", "diary.read"]
    assert (home.user.asked, home.user.questions) == ([], [])
    home.user.says("once")
    home.user.replies("Eve")
    home.model.calls("read_diary").then("Read.").calls("name_it").then("Done.")
    home.send("Read it")
    assert home.send("Ask").tool_calls[0].result.result == "Eve"
    assert len(home.user.asked) == len(home.user.questions) == 1


def test_a_file_that_the_model_does_not_take_is_refused_before_anything_is_stored(home):
    home.run(home.app.configuration.models.say("scripted/model", "input_media_types", "none"))
    with pytest.raises(UsageError) as caught:
        home.send("What is this?", model="scripted/model", attachments=[IMAGE])
    assert str(caught.value) == (
        "scripted/model takes no attachments, not cat.gif (image/gif): choose another model with --model PROVIDER/MODEL"
    )
    assert home.run(home.app.store.list_sessions()) == []


def test_no_more_of_a_history_is_sent_than_the_setting_says(oneclaw_factory, seen):
    home = oneclaw_factory([seen], environ={"ONECLAW_HISTORY_MAX_CHARACTERS": "10000"})
    home.run(home.app.configuration.models.say("scripted/model", "context_window", "1000000"))
    home.model.says("a" * 4_500).says("b" * 4_500).says("They wrote letters.").says("c")
    for text in ("One", "Two", "Three"):
        home.send(text)
    assert [each.content[:5] for each in home.model.requests[1].messages] == ["One", "aaaaa", "Two"]
    summary, *rest = home.model.requests[-1].messages
    assert "They wrote letters." in summary.content
    assert rest[-1].content == "Three"
    assert sum(len(each.content) for each in rest) < 6_000


def test_what_has_ended_in_the_background_is_told_with_the_next_message(home):
    session = home.run(home.app.begin_session("story"))
    work = BackgroundWork(id="nap-1", kind="agent", title="nap", plugin="agents", session_id=session.id, state="ended")
    other = replace(work, id="nap-2", session_id="another")
    for each in (work, other):
        home.run(home.app.store.set_setting(f"background:{each.id}", asdict(each)))
    home.model.says("I see.").says("Yes.")
    home.send("And now?", session="story")
    home.send("Sure?", session="story")
    first, _, second, _ = rows(home, "story")
    assert first.content == (
        'And now?\n\n<context plugin="oneclaw">\nEnded in the background:\n- agent nap-1: ended\n</context>'
    )
    assert second.content == "Sure?"
    assert [key for key in home.run(home.app.store.settings()) if key.startswith("background:")] == ["background:nap-2"]


def test_a_killed_turn_is_answered_as_interrupted_by_the_next_message(home):
    session = home.run(home.app.begin_session("story"))
    home.run(home.app.store.append(session.id, [user("Put it"), assistant(""), call("c1", "put")]))
    home.model.says("Shall I put it once more?")
    home.send("And?", session="story")
    (result,) = [row for row in rows(home, "story") if row.type is MessageType.TOOL_RESULT]
    assert (result.tool_call_id, result.error_type) == ("c1", "interrupted")


class Behind:
    """A home with a chain of two scripted models."""

    def __init__(self, make, seen):
        self.home = make(["chain", seen])
        models = ["scripted/model", "scripted/other"]
        self.home.run(self.home.app.configuration.compositions.add("chain/daily", {"models": models}))
        self.home.run(self.home.app.configuration.models.say("scripted/model", "input_media_types", "none"))


def test_a_turn_is_answered_by_the_first_model_of_a_chain_that_can_look_at_its_files(oneclaw_factory, seen):
    home = Behind(oneclaw_factory, seen).home
    home.model.calls("look").says("Nothing.").says("A cat.")
    first = home.send("Look", session="s", model="chain/daily").events[-1]
    second = home.send("What is this?", session="s", model="chain/daily", attachments=[IMAGE]).events[-1]
    assert (first.model, second.model) == ("scripted/model", "scripted/other")
    home.run(home.app.plugins.drain(5))
    assert [turn.model for turn in seen.turns] == ["chain/daily", "chain/daily"]


@pytest.mark.long
def test_an_agent_within_a_turn_is_asked_of_the_chain_too(oneclaw_factory, seen):
    models = []

    @tool
    async def delegate(context: ToolContext) -> str:
        """Delegate."""
        models.append(context.turn.model)
        *_, finished = [event async for event in home.app.send_message("Do", within=context)]
        return finished.text

    home = Behind(oneclaw_factory, seen).home
    home.app.add_tools(delegate)
    home.model.calls("delegate").says("A part.").says("All.")
    assert home.send("Do all", session="s", model="chain/daily").text == "All."
    assert models == ["chain/daily"]


@pytest.mark.long
def test_a_session_of_a_chain_is_compacted(oneclaw_factory, seen):
    home = Behind(oneclaw_factory, seen).home
    home.model.says("One.").says("Two.").says("They count.")
    home.send("Count.", session="s", model="chain/daily")
    home.send("Go on.", session="s", model="chain/daily")
    assert home.run(home.app.compact("s", model="chain/daily")).messages == 2


def test_the_window_of_a_server_is_asked_for_before_each_turn(home, monkeypatch):
    async def find_context_window(self, model):
        assert model == "model"
        return 4_096

    monkeypatch.setattr(ScriptedModel, "find_context_window", find_context_window, raising=False)
    home.model.says("One.").says("They count.").says("Two.")
    home.send("Count: " + "one " * 3_500, session="s")
    events = home.send("Go on.", session="s").events
    assert [event.reason for event in events if isinstance(event, CompactedEvent)] == ["context_window"]
