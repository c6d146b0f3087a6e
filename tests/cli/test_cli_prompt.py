import math

import pytest


@pytest.fixture
def worked_session(oneclaw):
    """A session in which the offline model has loaded a group."""
    assert oneclaw("run", "--session", "work", "How many pages does missing.pdf have?").status == 0
    return "work"


def test_a_new_session_is_sent_the_core_tools_and_the_list_of_groups(ok):
    document = ok("prompt", "--json")
    assert document["model"] == "offline/rules"
    assert "## Available Tool Groups" in document["system_prompt"]
    assert document["tools"][0]["name"] == "load_tool_group"
    assert {tool["group"] for tool in document["tools"]} == {None}
    assert document["messages"] == []


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


def test_sizes_are_estimated_from_characters_and_add_up(ok, worked_session):
    document = ok("prompt", "--session", worked_session, "--json")
    sizes = document["estimated_tokens"]
    assert sizes["system_prompt"] == math.ceil(len(document["system_prompt"]) / 4)
    assert sizes["tools"] == sum(tool["estimated_tokens"] for tool in document["tools"]) > 100
    assert sizes["messages"] == sum(message["estimated_tokens"] for message in document["messages"]) > 10
    assert sizes["total"] == sizes["system_prompt"] + sizes["tools"] + sizes["messages"]


def test_people_read_the_same_in_parts(ok, worked_session):
    document = ok("prompt", "--session", worked_session, "--json")
    text = ok("prompt", "--session", worked_session)
    sizes = document["estimated_tokens"]
    assert text.startswith("Model: offline/rules\n")
    assert f"== System prompt: estimated {sizes['system_prompt']} tokens ==\n{document['system_prompt']}" in text
    assert f"== Tools ({len(document['tools'])}): estimated {sizes['tools']:,} tokens ==" in text
    assert '{"name":"pdf_info","description":' in text
    assert "tool group pdf" in text
    assert "\nHow many pages does missing.pdf have?\n" in text
    assert f"== Total: estimated {sizes['total']:,} tokens ==" in text


def test_looking_changes_nothing(ok, worked_session):
    before = ok("sessions", "list", "--json")
    ok("prompt", "--session", worked_session)
    ok("prompt")
    assert ok("sessions", "list", "--json") == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--session", "nowhere"], "there is no session 'nowhere'"),
        (["--model", "no/model"], "the providers are"),
        (["--agent", "Nobody"], "there is no agent 'Nobody'"),
    ],
)
def test_what_there_is_not_is_wrong_usage(oneclaw, arguments, says):
    outcome = oneclaw("prompt", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert says in outcome.stderr
