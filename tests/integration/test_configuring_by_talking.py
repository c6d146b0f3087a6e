"""A conversation that configures OneClaw, uses what it has made, and undoes all of it."""

import json
import os
import subprocess
import sys

import pytest
from model_server import ModelServer, calls, text
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.cli.main import main

pytestmark = pytest.mark.one_python

ALLOWED = ("config.write", "tools.write", "network.private")
CODE = """
async function execute(params) {
  const answer = await fetch(params.url + '?city=' + params.city);
  return (await answer.json()).celsius + ' degrees in ' + params.city;
}
"""
SCHEMA = {
    "properties": {"city": {"type": "string"}, "url": {"type": "string"}},
    "required": ["city", "url"],
}


@pytest.fixture
def oneclaw(tmp_path, monkeypatch, capfd):
    """Run the program in this process, with everything opened anew; give its standard output."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("ONECLAW_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))

    def run(*arguments):
        capfd.readouterr()
        status = main(list(arguments))
        printed = capfd.readouterr()
        assert status == 0, printed.err
        return printed.out

    return run


def message(text):
    allow = [word for permission in ALLOWED for word in ("--allow", permission)]
    return ["run", "--session", "setup", "--json", *allow, text]


def turn_in_process(text, **environ):
    """Let a separate process run a turn."""
    done = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *message(text)],
        env=os.environ | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def results(printed):
    """The tool results of a run, by their tools."""
    events = [json.loads(line) for line in printed.splitlines()]
    return {event["name"]: event for event in events if event["event"] == "tool_result"}


def names(body):
    return [tool["function"]["name"] for tool in body["tools"]]


def test_a_conversation_sets_up_a_provider_and_a_tool_and_undoes_it(oneclaw, tmp_path):
    first_script, second_script = [], []
    with (
        WebServer(lambda request: response('{"celsius": 21}')) as weather,
        ModelServer(first_script) as first,
        ModelServer(second_script) as second,
    ):
        first_script += [
            calls(("load_tool_group", {"group_name": "config"})),
            calls(
                ("create_provider", {"name": "Lab", "type": "openai_compatible", "api_base_url": second.url}),
            ),
            calls(("add_model", {"provider_id": "lab", "model_id": "small"})),
            calls(("set_default_model", {"provider_id": "lab", "model_id": "small"})),
            text("Done."),
        ]
        second_script += [
            calls(("load_tool_group", {"group_name": "js_tool_management"})),
            calls(
                (
                    "create_js_tool",
                    {
                        "name": "city_weather",
                        "description": "Tells how warm it is in a city.",
                        "parameters_schema": json.dumps(SCHEMA),
                        "js_code": CODE,
                    },
                )
            ),
            calls(("city_weather", {"city": "Oslo", "url": weather.url})),
            calls(("set_tool_enabled", {"name": "browser", "enabled": False})),
            text("21 degrees in Oslo."),
            # The next message undoes it, in another process.
            calls(("delete_js_tool", {"name": "city_weather"})),
            calls(("set_tool_enabled", {"name": "browser", "enabled": True})),
            calls(("set_config", {"key": "model", "value": "offline/rules"})),
            calls(("delete_model", {"provider_id": "lab", "model_id": "small"})),
            calls(("delete_provider", {"provider_id": "lab"})),
            text("All is as it was."),
        ]
        oneclaw("config", "set", "model", "openai_compatible/test")

        environ = {"OPENAI_BASE_URL": first.url, "OPENAI_API_KEY": "sk-any"}
        setup = results(turn_in_process("Use my lab server", **environ))
        # Nothing names a model: the default that the conversation has set is used, here and in the next turn.
        answered = oneclaw(*message("How warm is it in Oslo? Write a tool for that."))
        used = results(answered)
        undone = results(oneclaw(*message("Undo all of it.")))

        assert {name: event["status"] for name, event in {**setup, **used, **undone}.items()} == dict.fromkeys(
            [*setup, *used, *undone], "success"
        )
        assert json.loads(answered.splitlines()[-1])["text"] == "21 degrees in Oslo."
        # The group that was loaded with the one provider stays loaded with the other.
        assert "set_default_model" in names(second.bodies[0])
        assert used["city_weather"]["result"] == "21 degrees in Oslo"
        assert [request.target for request in weather.requests] == ["/?city=Oslo"]
        # What was written is sent with the next request of the same turn, what was disabled is not.
        made, called, switched = (names(second.bodies[index]) for index in (1, 2, 4))
        assert "city_weather" not in made
        assert "city_weather" in called
        assert "browser" in called
        assert "browser" not in switched
        assert "city_weather" not in names(second.bodies[-1])
        assert "browser" in names(second.bodies[-1])

    tools = {tool["name"]: tool for tool in json.loads(oneclaw("tools", "list", "--json"))}
    assert "city_weather" not in tools
    assert tools["browser"]["enabled"] is True
    providers = [each["name"] for each in json.loads(oneclaw("providers", "list", "--json"))]
    assert "lab" not in providers
    assert json.loads(oneclaw("models", "default", "--json"))["model"] == "offline/rules"
    assert list((tmp_path / "tools").glob("city_weather*")) == []
