"""A conversation that configures OneClaw, uses what it has made, and undoes all of it."""

import json
import os
import subprocess
import sys

from model_server import ModelServer, calls, text
from web_server import WebServer, response

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


def oneclaw(home, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *arguments],
        env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        | {"ONECLAW_HOME": str(home), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def results(finished):
    """The tool results of a run, by their tools."""
    assert finished.returncode == 0, finished.stderr
    events = [json.loads(line) for line in finished.stdout.splitlines()]
    return {event["name"]: event for event in events if event["event"] == "tool_result"}


def say(home, message, *options, **environ):
    allow = [word for permission in ALLOWED for word in ("--allow", permission)]
    return oneclaw(home, "run", "--session", "setup", "--json", *allow, *options, message, **environ)


def names(body):
    return [tool["function"]["name"] for tool in body["tools"]]


def test_a_conversation_sets_up_a_provider_and_a_tool_and_undoes_it(tmp_path):
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
        environ = {"OPENAI_BASE_URL": first.url, "OPENAI_API_KEY": "sk-any"}

        setup = results(say(tmp_path, "Use my lab server", "--model", "openai_compatible/test", **environ))
        # Nothing names a model any more: the default that the conversation has set is used.
        used = results(say(tmp_path, "How warm is it in Oslo? Write a tool for that.", "--model", "lab/small"))
        undone = results(say(tmp_path, "Undo all of it.", "--model", "lab/small"))

        assert {name: event["status"] for name, event in {**setup, **used, **undone}.items()} == dict.fromkeys(
            [*setup, *used, *undone], "success"
        )
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

    tools = {tool["name"]: tool for tool in json.loads(oneclaw(tmp_path, "tools", "list", "--json").stdout)}
    assert "city_weather" not in tools
    assert tools["browser"]["enabled"] is True
    providers = [each["name"] for each in json.loads(oneclaw(tmp_path, "providers", "list", "--json").stdout)]
    assert "lab" not in providers
    assert json.loads(oneclaw(tmp_path, "models", "default", "--json").stdout)["model"] == "offline/rules"
    assert list((tmp_path / "tools").glob("city_weather*")) == []


def test_the_default_that_a_conversation_sets_is_used_by_its_next_turn(tmp_path):
    script = []
    with ModelServer(script) as first, ModelServer([text("Hello from the lab.")]) as second:
        script += [
            calls(("load_tool_group", {"group_name": "config"})),
            calls(("create_provider", {"name": "Lab", "type": "openai_compatible", "api_base_url": second.url})),
            calls(("set_default_model", {"provider_id": "lab", "model_id": "small"})),
            text("Done."),
        ]
        environ = {"OPENAI_BASE_URL": first.url, "OPENAI_API_KEY": "sk-any"}
        oneclaw(tmp_path, "config", "set", "model", "openai_compatible/test")

        results(say(tmp_path, "Use my lab server", **environ))
        answered = say(tmp_path, "Hello?", **environ)

    assert answered.returncode == 0, answered.stderr
    assert json.loads(answered.stdout.splitlines()[-1])["text"] == "Hello from the lab."
    # The group that was loaded with the one provider stays loaded with the other.
    assert "set_default_model" in names(second.bodies[0])
