"""The fixtures `oneclaw`, `call_tool` and their kin, used as an author of plugins uses them."""

import asyncio
import os
import subprocess
import sys

import greeting_plugin
import pytest
from greeting_plugin import greet
from pytest_oneclaw import (
    TurnRecord,
    assert_permission_asked,
    assert_tool_called,
    assert_tool_error,
    assert_tool_succeeded,
)

from oneclaw_core import NotFoundError, OneClawError, ToolResult, hookimpl, tool
from oneclaw_core.tools import DuplicateToolError, ToolDefinitionError


@pytest.fixture
def oneclaw_plugins():
    return [greeting_plugin]


@tool
def shout(text: str) -> str:
    """Say it loudly.

    Args:
        text: what.
    """
    return text.upper()


@pytest.mark.parametrize("which", ["greet", greet])
def test_a_tool_is_called_by_name_or_function(call_tool, which):
    assert call_tool(which, who="Ada") == ToolResult.success("Hello Ada")
    assert call_tool(which, {"who": "Grace"}).result == "Hello Grace"
    assert call_tool(which, '{"who": "Mary"}').result == "Hello Mary"


def test_a_tool_of_no_plugin_is_registered_for_the_test(call_tool):
    assert call_tool(shout, text="a").result == "A"
    assert call_tool("shout", text="b").result == "B"


def test_another_tool_of_the_same_name_is_refused(call_tool):
    with pytest.raises(DuplicateToolError, match="'greet' is registered already"):
        call_tool(tool(name="greet")(shout.function), text="a")


def test_what_is_no_tool_is_refused_with_what_to_do(call_tool):
    with pytest.raises(ToolDefinitionError, match="decorate it with @tool"):
        call_tool(shout.function, text="a")


def test_the_function_of_a_manifest_is_found(oneclaw_factory, tmp_path, monkeypatch):
    (tmp_path / "lengths.py").write_text("def double(value):\n    return value * 2\n")
    (tmp_path / "lengths.json").write_text(
        '[{"name": "double_length", "description": "Double it.", "function": "double", '
        '"parameters": {"properties": {"value": {"type": "number"}}, "required": ["value"]}}]'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import lengths

    class Lengths:
        @hookimpl
        def register_tools(self, register):
            register.manifest(tmp_path / "lengths.json")

    home = oneclaw_factory([Lengths()])

    assert home.call_tool(lengths.double, value=2).result == 4
    assert home.tool_calls[0].name == "double_length"


def test_arguments_are_checked_as_for_a_model(call_tool):
    assert_tool_error(call_tool("greet"), "validation_error", match="/who: Field required")
    assert_tool_error(call_tool("greet", "{"), "validation_error")
    assert_tool_error(call_tool("greet", who="Ada", loudly=True), "validation_error", match="loudly")
    with pytest.raises(ValueError, match="either a text or named"):
        call_tool("greet", "{}", who="Ada")


def test_the_user_answers_as_the_test_says(oneclaw, call_tool):
    refused = call_tool("greet", who="Ada", politely=True)
    assert_tool_error(refused, "permission_denied", match=r'user\.says\("once", to="greetings\.politeness"\)')

    oneclaw.user.says("no", "once")
    assert_tool_error(call_tool("greet", who="Ada", politely=True), "permission_denied", match="by the user")
    assert_tool_succeeded(call_tool("greet", who="Ada", politely=True))
    oneclaw.user.says("never", to="greetings.politeness")
    assert_tool_error(call_tool("greet", who="Ada", politely=True), "permission_denied", match="never")

    assert len(oneclaw.user.asked) == 4
    assert assert_permission_asked(oneclaw.user, "greetings.politeness", "greet Ada").arguments["who"] == "Ada"


def test_an_answer_that_there_is_not(oneclaw):
    with pytest.raises(ValueError, match="maybe"):
        oneclaw.user.says("maybe")


def test_what_is_allowed_is_not_asked(oneclaw_factory):
    home = oneclaw_factory([greeting_plugin], allow=["greetings.politeness"])

    assert home.call_tool("greet", who="Ada", politely=True).is_success
    assert home.user.asked == []


def test_only_the_chosen_plugins_are_there(oneclaw, oneclaw_factory, tmp_path):
    assert [record.name for record in oneclaw.app.catalog.plugins] == [
        "builtin",
        "offline",
        "greeting_plugin",
        "scripted_model",
    ]
    bare = oneclaw_factory([], home=tmp_path / "bare")
    assert [record.name for record in bare.app.catalog.plugins] == ["builtin", "offline", "scripted_model"]


def test_a_plugin_that_is_not_installed(oneclaw_factory):
    with pytest.raises(NotFoundError, match="no plugin 'nonsense' is installed; installed are: builtin"):
        oneclaw_factory(["nonsense"]).call_tool("get_current_time")


def test_a_broken_plugin_fails_the_test_with_the_remedy(oneclaw_factory):
    class Broken:
        @hookimpl
        def register_tools(self, register):
            register(greet)
            register(greet)

    with pytest.raises(AssertionError, match=r"(?s)Broken .* is degraded:.*'greet' is registered.*what to do: rename"):
        oneclaw_factory([Broken()]).call_tool("greet", who="Ada")
    assert oneclaw_factory([Broken()], check_plugins=False).call_tool("greet", who="Ada").is_success


def test_files_of_the_project_and_of_the_workspace(call_tool, oneclaw_project, oneclaw_home):
    (oneclaw_project / "notes.txt").write_text("buy milk")

    assert "buy milk" in assert_tool_succeeded(call_tool("read_file", path="notes.txt"))
    assert_tool_succeeded(call_tool("write_file", path="new.txt", content="done"))
    assert (oneclaw_home.workspace / "new.txt").read_text() == "done"
    assert_tool_error(call_tool("read_file", path="/etc/passwd"), "permission_denied")


def test_a_function_is_called_directly(tool_context, oneclaw_project):
    (oneclaw_project / "notes.txt").write_text("buy milk")

    assert tool_context.paths.readable("notes.txt").read_text() == "buy milk"
    assert asyncio.run(greet("Ada", tool_context)) == "Hello Ada"


@pytest.mark.long
def test_a_home_is_opened_again(oneclaw):
    oneclaw.user.says("session")
    assert oneclaw.call_tool("greet", who="Ada", politely=True).is_success
    before = oneclaw.app
    oneclaw.user.says("no")
    assert oneclaw.call_tool("greet", who="Ada", politely=True).is_success

    oneclaw.reopen()

    assert oneclaw.app is not before
    assert not oneclaw.call_tool("greet", who="Ada", politely=True).is_success


def test_what_is_async_runs_in_the_open_home(oneclaw):
    async def at_once():
        return await asyncio.gather(*(oneclaw.app.call_tool("greet", {"who": name}) for name in ("Ada", "Grace")))

    oneclaw.call_tool("get_current_time")
    assert [outcome.result.result for outcome in oneclaw.run(at_once())] == ["Hello Ada", "Hello Grace"]


def test_an_async_test_opens_the_home_itself(oneclaw, model):
    model.calls("greet", who="Ada").then("Done.")

    async def test():
        with pytest.raises(OneClawError, match=r"async with oneclaw\.opened\(\) as app"):
            oneclaw.call_tool("greet", who="Ada")
        async with oneclaw.opened() as app:
            assert (await app.call_tool("greet", {"who": "Ada"})).result.result == "Hello Ada"
            return await TurnRecord.collect(
                app.send_message("Greet Ada", model="scripted/model", tool_groups=["greetings"])
            )

    assert_tool_called(asyncio.run(test()), "greet", who="Ada")


@pytest.mark.long
def test_the_environment_of_whoever_runs_the_tests_is_kept_out(oneclaw_home, monkeypatch):
    environ = {name for name in os.environ if name.startswith("ONECLAW_")}
    assert environ == {"ONECLAW_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", "call", "write_file", '{"path": "a.txt", "content": "x"}'],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (oneclaw_home.workspace / "a.txt").read_text() == "x"
