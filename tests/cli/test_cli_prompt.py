import json
import math
import os

import pytest
from how_long import some
from model_server import text

from oneclaw_core.cli.running import with_store


@pytest.fixture
def worked_session(oneclaw, all_plugins):
    """A session in which the offline model has loaded a group."""
    assert oneclaw("run", "--session", "work", "How many pages does missing.pdf have?").status == 0
    return "work"


@pytest.mark.usefixtures("all_plugins")
def test_a_new_session_is_sent_the_core_tools_and_the_list_of_groups(ok):
    document = ok("prompt", "--json")
    assert document["model"] == "offline/rules"
    assert "## Available Tool Groups" in document["system_prompt"]
    assert document["tools"][0]["name"] == "load_tool_group"
    assert {tool["group"] for tool in document["tools"]} == {None}
    assert document["messages"] == []


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_a_session_is_sent_its_history_and_the_tools_of_its_groups(ok, worked_session):
    document = ok("prompt", "--session", worked_session, "--json")
    assert [tool["name"] for tool in document["tools"] if tool["group"] == "pdf"] == [
        "pdf_info",
        "pdf_extract_text",
        "pdf_render_page",
    ]
    first, *others = document["messages"]
    assert (first["type"], first["content"]) == ("user", "How many pages does missing.pdf have?")
    load, loaded = (message for message in others if message.get("tool_name") == "load_tool_group")
    assert (load["type"], load["arguments"]) == ("tool_call", '{"group_name": "pdf"}')
    assert (loaded["type"], loaded["status"]) == ("tool_result", "success")


@pytest.mark.long
def test_sizes_are_estimated_from_characters_and_add_up(ok, worked_session):
    document = ok("prompt", "--session", worked_session, "--json")
    sizes = document["estimated_tokens"]
    assert sizes["system_prompt"] == math.ceil(len(document["system_prompt"]) / 4)
    assert sizes["tools"] == sum(tool["estimated_tokens"] for tool in document["tools"]) > 100
    assert sizes["messages"] == sum(message["estimated_tokens"] for message in document["messages"]) > 10
    assert sizes["total"] == sizes["system_prompt"] + sizes["tools"] + sizes["messages"]


@pytest.mark.lowest_versions
@pytest.mark.usefixtures("all_plugins")
def test_people_read_the_same_in_parts(ok, worked_session):
    document = ok("prompt", "--session", worked_session, "--json")
    shown = ok("prompt", "--session", worked_session)
    sizes = document["estimated_tokens"]
    assert shown.startswith("Model: offline/rules\n")
    assert f"== System prompt: estimated {sizes['system_prompt']} tokens ==\n{document['system_prompt']}" in shown
    assert f"== Tools ({len(document['tools'])}): estimated {sizes['tools']:,} tokens ==" in shown
    assert '{"name":"pdf_info","description":' in shown
    assert "tool group pdf" in shown
    assert "\nHow many pages does missing.pdf have?\n" in shown
    assert f"== Total: estimated {sizes['total']:,} tokens ==" in shown


@pytest.mark.long
def test_looking_changes_nothing(ok, worked_session):
    before = ok("sessions", "list", "--json")
    ok("prompt", "--session", worked_session)
    ok("prompt")
    assert ok("sessions", "list", "--json") == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    some(
        [
            (["--session", "nowhere"], "there is no session 'nowhere'"),
            (["--model", "no/model"], "the providers are"),
            (["--agent", "Nobody"], "there is no agent 'Nobody'"),
        ],
        3,
    ),
)
def test_what_there_is_not_is_wrong_usage(oneclaw, arguments, says):
    outcome = oneclaw("prompt", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert says in outcome.stderr


VENDORS = {
    "openai": "https://api.openai.com/v1/responses",
    "openai_compatible": "https://api.openai.com/v1/chat/completions",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/test:streamGenerateContent?alt=sse",
}
CHAT = ("--model", "openai_compatible/test")


@pytest.mark.long
@pytest.mark.lowest_versions
@pytest.mark.parametrize(("provider", "url"), some(list(VENDORS.items()), 2))
@pytest.mark.usefixtures("all_plugins")
def test_every_wire_format_can_be_shown(ok, worked_session, provider, url, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    arguments = ("prompt", "--session", worked_session, "--model", f"{provider}/test", "--wire")
    body = ok(*arguments)
    document = ok(*arguments, "--json")
    assert (document["method"], document["url"], document["body"]) == ("POST", url, json.loads(body))
    assert document["headers"]["Content-Type"] == "application/json"
    assert "sk-0123456789" not in body + str(document)
    assert "How many pages does missing.pdf have?" in body
    assert "pdf_extract_text" in body


@pytest.mark.long
@pytest.mark.parametrize(
    ("loading", "shown", "tools"), [("native", "append", "pdf_info"), ("dispatch", "dispatch", "use_tool")]
)
@pytest.mark.usefixtures("all_plugins")
def test_what_is_shown_is_what_is_sent(ok, serve, worked_session, loading, shown, tools):
    server = serve(text("Fine."))
    ok("models", "set", "openai_compatible/test", "tool_loading", loading)
    ok("models", "set", "openai_compatible/test", "max_output_tokens", "900")
    document = ok("prompt", "--session", worked_session, *CHAT, "--json")
    wire = json.loads(ok("prompt", "--session", worked_session, *CHAT, "--wire"))

    ok("run", "--session", worked_session, *CHAT, "Go on")

    [sent] = server.bodies
    assert sent["messages"].pop() == {"role": "user", "content": "Go on"}
    assert wire == sent
    assert (document["tool_loading"], document["max_output_tokens"]) == (shown, 900)
    names = [tool["name"] for tool in document["tools"]]
    assert names == [tool["function"]["name"] for tool in sent["tools"]]
    assert tools in names
    assert ("pdf_info" in names) is (loading != "dispatch")


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_behind_a_dispatcher_calls_and_schemas_are_shown_as_they_are_sent(ok, worked_session):
    ok("models", "set", "gemini/test", "tool_loading", "dispatch")
    arguments = ("prompt", "--session", worked_session, "--model", "gemini/test")
    shown = ok(*arguments)
    assert "Tool loading: dispatch (loaded groups behind the tool use_tool)" in shown
    assert "tool_call use_tool" in shown
    assert "tool_call pdf_info" not in shown
    loaded = next(each for each in ok(*arguments, "--json")["messages"] if each["type"] == "tool_result")
    assert "Call them through use_tool." in loaded["content"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "shown"),
    [("offline/rules", "append"), ("gemini/x", "append"), ("openai/x", "native"), ("anthropic/x", "native")],
)
def test_the_way_of_loading_is_one_that_the_provider_has(ok, model, shown):
    assert ok("prompt", "--model", model, "--json")["tool_loading"] == shown
    assert f"\nTool loading: {shown} (" in ok("prompt", "--model", model)


def test_what_a_model_was_found_to_refuse_is_not_shown_as_its_way(ok, serve):
    serve(text("unused"))

    async def learn(store):
        learned = {"tool_loading": "append", "base_url": os.environ["OPENAI_BASE_URL"]}
        await store.set_setting("learned:openai/test", learned)

    with_store(learn)
    assert ok("prompt", "--model", "openai/test", "--json")["tool_loading"] == "append"


def test_a_provider_that_sends_nothing_has_nothing_to_show(oneclaw):
    outcome = oneclaw("prompt", "--wire")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "the provider type 'offline' has no wire format to show" in outcome.stderr
