"""Previews of the next request, and the status of a session."""

from dataclasses import replace

import pytest
from histories import assistant, user

from oneclaw_core import NotFoundError, UsageError, hookimpl, tool
from oneclaw_core.previews.preview import SessionStatus
from oneclaw_core.testing.scripted import ScriptedModel
from oneclaw_core.types.model_requests import ToolLoading

MODEL = "scripted/model"


@tool
def count_sheep() -> str:
    """Count sheep."""
    return "five"


class Farm:
    __name__ = "farm"

    @hookimpl
    def register_tools(self, register):
        register(count_sheep, group="sheep")


@pytest.fixture
def home(oneclaw_factory):
    return oneclaw_factory([Farm()])


def previewed(home, **options):
    return home.run(home.app.preview_request(**options))


@pytest.mark.parametrize(
    ("wanted", "is_native", "shown", "names"),
    [
        (None, True, ToolLoading.NATIVE, ["count_sheep"]),
        (None, False, ToolLoading.APPEND, ["count_sheep"]),
        ("inline", True, ToolLoading.INLINE, ["count_sheep"]),
        ("inline", False, ToolLoading.APPEND, ["count_sheep"]),
        ("append", True, ToolLoading.APPEND, ["count_sheep"]),
        ("dispatch", True, ToolLoading.DISPATCH, ["use_tool"]),
    ],
)
def test_loaded_groups_are_shown_as_the_model_is_told_them(home, monkeypatch, wanted, is_native, shown, names):
    monkeypatch.setattr(ScriptedModel, "loads_natively", is_native, raising=False)
    home.model.calls("load_tool_group", group_name="sheep").then("Loaded.")
    home.send("Load it", session="s")
    if wanted:
        home.run(home.app.configuration.models.say(MODEL, "tool_loading", wanted))
    preview = previewed(home, session="s", model=MODEL)
    assert (preview.model, preview.provider_type, preview.tool_loading) == (MODEL, "scripted", shown)
    assert [each.name for each in preview.request.tools if each.name in ("count_sheep", "use_tool")] == names
    assert [each.content for each in preview.request.messages][-1] == "Loaded."
    assert preview.wire is None


def test_a_provider_writes_the_request_if_that_is_asked_for(home, monkeypatch):
    monkeypatch.setattr(ScriptedModel, "wire_request", lambda self, request: request.model, raising=False)
    assert previewed(home, model=MODEL, is_wired=True).wire == "model"
    assert previewed(home, model=MODEL).wire is None


def test_what_is_set_for_a_model_is_in_its_request(home):
    home.run(home.app.configuration.models.say(MODEL, "max_output_tokens", "77"))
    home.run(home.app.configuration.models.say(MODEL, "reasoning", "low"))
    request = previewed(home, model=MODEL).request
    assert (request.model, request.max_output_tokens, request.reasoning) == ("model", 77, "low")


def test_a_summary_stands_before_the_newer_messages(home):
    session = home.run(home.app.begin_session("s"))
    stored = home.run(home.app.store.append(session.id, [user("One"), assistant("1"), user("Two"), assistant("2")]))
    home.run(home.app.store.set_summary(session.id, "They count.", stored[1].sequence))
    first, *rest = previewed(home, session="s", model=MODEL).request.messages
    assert "They count." in first.content
    assert [each.content for each in rest] == ["Two", "2"]


def test_an_answer_that_broke_off_is_shown_as_it_would_be_with_the_next_message(home):
    session = home.run(home.app.begin_session("s"))
    half = replace(assistant("Half"), is_incomplete=True)
    home.run(home.app.store.append(session.id, [user("One"), half]))
    messages = previewed(home, session="s", model=MODEL).request.messages
    assert [each.content for each in messages] == ["One", "Half"]


def test_a_disabled_tool_is_not_in_it(home):
    def names():
        return [each.name for each in previewed(home, model=MODEL).request.tools]

    assert "load_tool_group" in names()
    home.run(home.app.store.set_tool_enabled("tool", "load_tool_group", False))
    assert "load_tool_group" not in names()


def test_the_request_of_a_new_session_begins_with_its_agent(home):
    home.run(home.app.agents.create("Author", system_prompt="Write."))
    request = previewed(home, agent="Author", model=MODEL).request
    assert request.system_prompt.startswith("Write.")
    assert (request.session_id, request.messages) == ("", ())


@pytest.mark.parametrize("look", ["preview_request", "session_status"])
def test_only_what_is_there_is_looked_at(home, look):
    with pytest.raises(NotFoundError, match=r"^there is no session 'tale'; list them with: oneclaw sessions list$"):
        home.run(getattr(home.app, look)(session="tale"))
    for name in ("session", "agent", "model"):
        with pytest.raises(UsageError, match=f"{name} must be .*, not int"):
            home.run(getattr(home.app, look)(**{name: 5}))


def test_the_status_of_a_session_grows_with_it(home):
    home.run(home.app.configuration.models.say(MODEL, "context_window", "9000"))
    new = home.run(home.app.session_status(model=MODEL))
    assert (new.model, new.context_window, new.context_tokens, new.groups) == (MODEL, 9_000, None, ())
    assert new.usage.requests == 0
    home.model.calls("load_tool_group", group_name="sheep").then("Loaded.")
    home.send("Load it", session="s")
    status = home.run(home.app.session_status("s", model=MODEL))
    assert (status.groups, status.usage.requests) == (("sheep",), 2)
    start = home.run(home.app.store.load_turn(home.run(home.app.store.find_session("s")).id, 0))
    assert status.context_tokens == start.last_input_tokens > 0


@pytest.mark.parametrize(
    ("window", "tokens", "share"),
    [(1_000, 250, 0.25), (1_000, 0, 0.0), (1_000, 2_000, 1.0), (None, 5, None), (0, 5, None), (1_000, None, None)],
)
def test_the_share_of_the_window_that_is_used(window, tokens, share):
    status = SessionStatus(model=MODEL, context_window=window, context_tokens=tokens, groups=(), usage=None)
    assert status.context_share == share
