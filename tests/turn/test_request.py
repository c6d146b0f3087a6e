import json
from dataclasses import replace
from itertools import pairwise

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_openai.chat_wire import RequestEncoder
from stage import some_tools

from oneclaw_core.contract.arguments import PromptSection
from oneclaw_core.models.adapted import prepare_request
from oneclaw_core.models.attachments import with_files_taken
from oneclaw_core.models.dispatcher import USE_TOOL, USE_TOOL_DEFINITION, dispatched_request, undispatched_response
from oneclaw_core.prompts.kept import prompt_lists
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.request import TOOL_GROUPS, TOOLS, TurnPrompt, model_request, shown_history
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.messages import Attachment, Message, MessageType, ToolCall, ToolCallStatus
from oneclaw_core.types.model_requests import ModelInfo, ModelRequest, ModelResponse, ToolLoading
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition, ToolSelection

OK, ERROR = ToolCallStatus.SUCCESS, ToolCallStatus.ERROR


def tool(name):
    parameters = {"type": "object", "properties": {f"{name}_text": {"type": "string"}}}
    return ToolDefinition(name, f"Does {name}.\nAnd more.", parameters)


CORE = (tool("load_tool_group"), tool("read_file"))
PDF = LoadedGroup("pdf", (tool("pdf_info"), tool("pdf_render")))
MAIL = LoadedGroup("mail", (tool("mail_send"),))


def user(text):
    return Message(type=MessageType.USER, content=text)


def exchange(call_id, name, arguments, content="done", status=OK):
    """A call and its result."""
    shared = {"tool_call_id": call_id, "tool_name": name, "tool_status": status}
    return (
        Message(type=MessageType.TOOL_CALL, tool_input=arguments, **shared),
        Message(type=MessageType.TOOL_RESULT, content=content, **shared),
    )


def load(call_id, group, status=OK):
    return exchange(call_id, "load_tool_group", json.dumps({"group_name": group}), f"Loaded {group}.", status)


def request(*messages, groups=(), core=CORE, find_loadable=tuple):
    return ModelRequest(
        model="m",
        system_prompt="Be brief.",
        messages=messages,
        tools=ActiveTools(core, tuple(groups), find_loadable),
        session_id="s",
        tool_loading=ToolLoading.DISPATCH,
    )


def unwrapped(arguments, call_id="c", name=USE_TOOL):
    [call] = undispatched_response(ModelResponse(tool_calls=(ToolCall(call_id, name, arguments),))).tool_calls
    assert call.id == call_id
    return call.name, call.arguments


def test_the_tools_are_the_core_tools_and_the_dispatcher_whatever_is_loaded():
    nothing_loaded = dispatched_request(request(user("hi")))
    loaded = dispatched_request(request(user("hi"), groups=[PDF, MAIL], find_loadable=lambda: (PDF, MAIL)))
    for each in (nothing_loaded, loaded):
        assert list(each.tools) == [*CORE, USE_TOOL_DEFINITION]
        assert each.tools.find_loadable() == ()
        assert each.tool_loading is ToolLoading.APPEND


def test_the_result_that_loaded_a_group_carries_the_schemas_of_its_tools():
    sent = dispatched_request(request(*load("a", "pdf"), groups=[PDF])).messages
    assert sent[0].tool_name == sent[1].tool_name == "load_tool_group"
    assert sent[1].content == (
        "Loaded pdf.\n\nCall them through use_tool. The JSON Schema of the arguments of each:\n"
        'pdf_info: {"type":"object","properties":{"pdf_info_text":{"type":"string"}}}\n'
        'pdf_render: {"type":"object","properties":{"pdf_render_text":{"type":"string"}}}'
    )


def test_a_group_loaded_again_or_not_loaded_at_all_is_described_once_or_never():
    messages = (*load("a", "pdf", ERROR), *load("b", "pdf"), *load("c", "pdf"), *load("d", "gone"))
    sent = dispatched_request(request(*messages, groups=[PDF])).messages
    assert ["JSON Schema" in message.content for message in sent[1::2]] == [False, True, False, False]


def test_a_group_whose_loading_was_cut_from_the_history_is_described_in_the_system_prompt():
    sent = dispatched_request(request(user("go on"), *load("b", "mail"), groups=[PDF, MAIL]))
    assert sent.system_prompt.startswith(
        "Be brief.\n\nThe tool group 'pdf' is loaded. Its tools:\n- pdf_info: Does pdf_"
    )
    assert "pdf_render_text" in sent.system_prompt
    assert "mail" not in sent.system_prompt
    assert "mail_send_text" in sent.messages[2].content
    assert dispatched_request(request(user("hi"))).system_prompt == "Be brief."


def test_stored_calls_of_grouped_tools_are_calls_of_the_dispatcher():
    messages = (*exchange("a", "pdf_info", '{ "path":1.50 }'), *exchange("b", "read_file", '{"path":"x"}'))
    sent = dispatched_request(request(*messages, groups=[PDF])).messages
    assert [(each.tool_name, each.tool_call_id) for each in sent] == [
        (USE_TOOL, "a"),
        (USE_TOOL, "a"),
        ("read_file", "b"),
        ("read_file", "b"),
    ]
    assert sent[0].tool_input == '{"name":"pdf_info","arguments":{ "path":1.50 }}'
    assert sent[2:] == messages[2:]
    assert sent[1] == replace(messages[1], tool_name=USE_TOOL)


@pytest.mark.parametrize(
    ("written", "arguments"), [("", {}), (" ", {}), ("{oops", "{oops"), ("[1]", "[1]"), ('{"a": NaN}', '{"a": NaN}')]
)
def test_malformed_arguments_are_shown_to_the_model_as_it_wrote_them(written, arguments):
    sent = dispatched_request(request(*exchange("a", "pdf_info", written), groups=[PDF])).messages
    assert json.loads(sent[0].tool_input) == {"name": "pdf_info", "arguments": arguments}


def test_calls_of_tools_that_are_gone_stay_calls_of_the_dispatcher():
    call, result = exchange("a", "pdf_info", "{}")
    with_group = dispatched_request(request(call, result, groups=[PDF])).messages
    assert dispatched_request(request(call, result)).messages == with_group


def test_a_request_dispatched_twice_is_as_if_dispatched_once():
    messages = (*load("a", "pdf"), *exchange("b", "pdf_info", "{}"), *exchange("c", USE_TOOL, "{oops", status=ERROR))
    once = dispatched_request(request(*messages, groups=[PDF]))
    assert dispatched_request(once) == once


def test_what_is_stored_is_not_changed():
    messages = (*load("a", "pdf"), *exchange("b", "pdf_info", "{}"))
    asked = request(*messages, groups=[PDF])
    dispatched_request(asked)
    assert asked == request(*messages, groups=[PDF])


# Responses


def test_a_call_of_the_dispatcher_becomes_a_call_of_the_tool_it_names():
    response = ModelResponse(
        text="Sure.",
        tool_calls=(
            ToolCall("a", USE_TOOL, '{"name": "pdf_info", "arguments": {"path": "ä", "n": 1}}'),
            ToolCall("b", "read_file", '{"name": "x"}'),
        ),
        provider_data={"anthropic": {"content": [1]}},
    )
    assert undispatched_response(response) == replace(
        response,
        tool_calls=(ToolCall("a", "pdf_info", '{"path":"ä","n":1}'), ToolCall("b", "read_file", '{"name": "x"}')),
    )


@pytest.mark.parametrize(
    ("written", "name", "arguments"),
    [
        ('{"name": "pdf_info", "arguments": "{\\"n\\": 1}"}', "pdf_info", '{"n": 1}'),
        ('{"name": "pdf_info", "arguments": "{oops"}', "pdf_info", "{oops"),
        ('{"name": "pdf_info", "arguments": [1]}', "pdf_info", "[1]"),
        ('{"name": "pdf_info", "arguments": null}', "pdf_info", "{}"),
        ('{"name": "pdf_info", "arguments": {"name": "x"}}', "pdf_info", '{"name":"x"}'),
        ('{"name": " pdf_info\\n"}', "pdf_info", "{}"),
        ('{"name": "pdf_info", "path": "x"}', "pdf_info", '{"path":"x"}'),
        ('{"name": "load_tool_group", "arguments": {"group_name": "pdf"}}', "load_tool_group", '{"group_name":"pdf"}'),
        ('{"name": "use_tool", "arguments": {"name": "pdf_info"}}', USE_TOOL, '{"name":"pdf_info"}'),
    ],
)
def test_arguments_come_as_an_object_as_text_or_beside_the_name(written, name, arguments):
    assert unwrapped(written) == (name, arguments)


@pytest.mark.parametrize(
    "written", ["", "{oops", "[1]", "{}", '{"arguments": {}}', '{"name": 3}', '{"name": " "}', "[" * 50_000]
)
def test_what_names_no_tool_stays_a_call_of_the_dispatcher(written):
    assert unwrapped(written) == (USE_TOOL, written)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(40))
@given(st.text(max_size=40) | st.dictionaries(st.text(max_size=5), json_values, max_size=4).map(json.dumps))
def test_what_was_called_through_the_dispatcher_is_stored_and_told_as_the_same_call(written):
    [call, _] = dispatched_request(request(*exchange("c", "pdf_info", written), groups=[PDF])).messages
    name, arguments = unwrapped(call.tool_input)
    assert name == "pdf_info"
    try:
        meant = parse_arguments(written)
    except ArgumentsError:
        assert arguments == written
    else:
        assert parse_arguments(arguments) == meant


# The prompt cache


def session():
    """The requests of a session that loads two groups."""
    steps = [
        ([user("go")], []),
        ([*load("a", "pdf"), *exchange("b", "read_file", "{}")], [PDF]),
        (exchange("c", "pdf_info", "{}"), [PDF]),
        ([Message(type=MessageType.ASSISTANT, content="Done."), user("mail it")], [PDF]),
        (load("d", "mail"), [PDF, MAIL]),
        (
            [*exchange("e", "mail_send", "{oops", "bad", ERROR), *exchange("f", "invented", "{}", "no", ERROR)],
            [PDF, MAIL],
        ),
    ]
    history = []
    for messages, groups in steps:
        history += messages
        yield request(*history, groups=groups)


def test_the_tools_are_byte_for_byte_the_same_over_a_session_that_loads_two_groups():
    bodies = [RequestEncoder("http://a").encode(dispatched_request(each)) for each in session()]
    tools = {body[body.index(b'"tools":[') :] for body in bodies}
    assert len(tools) == 1
    messages = [body[: body.index(b',"stream":true') - 1] for body in bodies]
    for earlier, later in pairwise(messages):
        assert later.startswith(earlier)


def test_a_structured_result_that_was_cut_is_sent_as_the_text_that_is_left():
    call, result = exchange("a", "rows", "{}", json.dumps({"rows": ["x" * 40] * 40}))
    cut = replace(result, is_json=True, shown_characters=200)
    [_, shown] = shown_history([call, cut])
    assert not shown.is_json
    assert len(shown.content) < len(result.content)
    [_, whole] = shown_history([call, replace(result, is_json=True)])
    assert (whole.is_json, whole.content) == (True, result.content)


# What a request is made of


@pytest.fixture
def registry():
    return some_tools()


def test_the_lists_name_the_groups_and_the_core_tools(registry):
    lists = prompt_lists(GENERAL_ASSISTANT, registry)
    assert lists == {
        TOOL_GROUPS: "## Available Tool Groups\n\nUse `load_tool_group` to load tools from a group before using them."
        "\n\n- pdf: Reads PDF files",
        TOOLS: "## Tools\n- load_tool_group\n- echo",
    }
    assert TurnPrompt(shown=lists).core_tools() == {"load_tool_group", "echo"}
    nothing = replace(GENERAL_ASSISTANT, selection=ToolSelection(frozenset(), frozenset()))
    assert prompt_lists(nothing, registry) == {TOOL_GROUPS: "", TOOLS: "## Tools"}
    assert TurnPrompt(shown={TOOLS: "## Tools"}).core_tools() == frozenset()


def test_sections_about_a_tool_are_for_agents_that_have_it(registry):
    sections = [
        PromptSection("day", "It is Monday."),
        PromptSection("echo", "Echo often.", core_tool="echo"),
        PromptSection("gone", "Use it.", core_tool="gone"),
        PromptSection("day", "It rains."),
    ]
    lists = prompt_lists(GENERAL_ASSISTANT, registry, sections)
    assert list(lists)[:-2] == ["section day", "section echo"]
    assert (lists["section day"], lists["section echo"]) == ("It is Monday.\n\nIt rains.", "Echo often.")


def made(registry, agent=GENERAL_ASSISTANT, groups=(), sections="", lists=None):
    prompt = TurnPrompt(sections, shown=lists)
    tools = registry.toolset(agent.selection).active(groups, prompt.core_tools())
    return model_request(agent, tools, "m", "s", [user("Hi")], prompt)


def test_a_request_has_all_that_a_model_is_sent(registry):
    agent = replace(GENERAL_ASSISTANT, system_prompt="Be brief.", parameters={"temperature": 0})
    lists = prompt_lists(agent, registry)
    sent, listed = made(registry, agent, ["pdf"], lists=lists), lists[TOOL_GROUPS]
    assert sent.system_prompt == f"Be brief.\n\n---\n\n{listed}"
    assert (sent.model, sent.session_id, sent.messages, sent.parameters) == (
        "m",
        "s",
        (user("Hi"),),
        {"temperature": 0},
    )
    assert [each.name for each in sent.tools] == ["load_tool_group", "echo", "pdf_info"]


def test_what_is_kept_with_a_session_stands_between_the_agent_and_the_groups(registry):
    lists = {"section day": "It is Monday.", "section none": " ", TOOL_GROUPS: "The groups.", TOOLS: "## Tools\n- echo"}
    agent = replace(GENERAL_ASSISTANT, system_prompt="Be brief.")
    sent = made(registry, agent, sections="Kept.", lists=lists)
    assert sent.system_prompt == "Be brief.\n\nKept.\n\nIt is Monday.\n\n---\n\nThe groups."
    assert made(registry, agent, lists={TOOL_GROUPS: "", TOOLS: ""}).system_prompt == "Be brief."


LLAMA = ModelInfo(name="m", max_output_tokens=500, input_media_types=("image/",))


def llama(**about):
    return ChosenModel(None, ProviderConfig("local", "scripted"), LLAMA, **about)


CAT = Attachment("cat.gif", "IMAGE/GIF", b"GIF89a")
BOOK = Attachment("book.pdf", "application/pdf", b"%PDF-1.4")


@pytest.mark.parametrize(
    ("own", "info", "wanted", "longest"),
    [
        (None, 500, None, None),
        (None, 500, 900, 900),
        (300, 500, 900, 300),
        (700, 500, None, 500),
        (700, None, 900, 700),
    ],
)
def test_the_longest_answer_is_what_the_model_can_give(own, info, wanted, longest):
    asked = replace(request(user("Hi")), max_output_tokens=own)
    model = llama(max_output_tokens=wanted)
    sent = prepare_request(asked, replace(model, info=replace(LLAMA, max_output_tokens=info)))
    assert sent.max_output_tokens == longest


def test_a_request_is_prepared_for_its_model():
    asked = replace(request(replace(user("See"), attachments=(CAT, BOOK)), groups=[PDF]), reasoning=None)
    model = llama(tool_loading=ToolLoading.APPEND, left_out={"effort:low": "no"}, reasoning="low")
    sent = prepare_request(asked, model)
    assert (sent.tool_loading, sent.reasoning, sent.left_out) == (ToolLoading.APPEND, None, {"effort:low": "no"})
    assert (sent.model, sent.first_byte_seconds) == ("m", None)
    (message,) = sent.messages
    assert message.attachments == (CAT,)
    assert message.content == "See\n[book.pdf (application/pdf) cannot be shown to this model]"
    plain = prepare_request(asked, llama(reasoning="high"))
    assert (plain.reasoning, plain.left_out, [each.name for each in plain.tools][-1]) == ("high", {}, "pdf_render")
    dispatched = prepare_request(asked, llama(tool_loading=ToolLoading.DISPATCH))
    assert [each.name for each in dispatched.tools] == ["load_tool_group", "read_file", "use_tool"]
    bare = replace(request(user("Hi")), tools=ActiveTools(()))
    assert list(prepare_request(bare, llama(tool_loading=ToolLoading.DISPATCH)).tools) == []


def test_files_that_are_not_sent_are_notes_of_text():
    structured = replace(exchange("a", "rows", "{}", "[1]")[1], is_json=True, attachments=(BOOK,))
    (sent,) = with_files_taken([structured], ())
    assert (sent.content, sent.is_json, sent.attachments) == (
        "[1]\n[book.pdf (application/pdf) cannot be shown to this model]",
        False,
        (),
    )
    (silent,) = with_files_taken([replace(user(""), attachments=(CAT, BOOK))], ("application/",))
    assert silent.content == "[cat.gif (IMAGE/GIF) cannot be shown to this model]"
    assert silent.attachments == (BOOK,)
    old = replace(CAT, data=b"", left_out_bytes=6)
    (gone,) = with_files_taken([replace(user("See"), attachments=(old,))], None)
    assert gone.content == "See\n[cat.gif (IMAGE/GIF) was shown here and is not sent again: ask for it if you need it]"
    given = (replace(user("See"), attachments=(CAT,)), user("Hi"))
    assert with_files_taken(given, None) == given


def test_an_answer_that_broke_off_is_shown_where_the_user_replied_to_it():
    half = Message(type=MessageType.ASSISTANT, content="Half", is_incomplete=True)
    whole = Message(type=MessageType.ASSISTANT, content="Whole")
    assert shown_history([user("One"), half, user("Two")]) == [user("One"), half, user("Two")]
    assert shown_history([user("One"), half, whole, user("Two")]) == [user("One"), whole, user("Two")]
    assert shown_history([user("One"), half]) == [user("One")]


def test_results_are_shown_in_the_order_of_their_calls():
    (first, one), (second, two), (third, three) = (exchange(each, "read_file", "{}", each) for each in "abc")
    stranger = exchange("x", "read_file", "{}", "x")[1]
    messages = [first, second, two, one, user("Go on"), third, three, stranger]
    assert shown_history(messages) == [first, second, one, two, user("Go on"), third, stranger, three]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ('{"name": "pdf_info", "argu', "pdf_info"),
        (' { "name" : "pdf_info"', "pdf_info"),
        ('{"name": "pdf_in', USE_TOOL),
        ('{"arguments": {"name": "x"}', USE_TOOL),
        (f'{{"name": "{"x" * 200}"', "x" * 200),
        (f'{{"name": "{"x" * 201}"', USE_TOOL),
    ],
)
def test_a_call_that_was_cut_is_one_of_the_tool_that_it_begins_to_name(arguments, name):
    response = ModelResponse(cut_calls=(ToolCall("c", USE_TOOL, arguments), ToolCall("d", "echo", arguments)))
    assert [each.name for each in undispatched_response(response).cut_calls] == [name, "echo"]


def test_the_dispatcher_describes_itself():
    assert USE_TOOL_DEFINITION.name == "use_tool"
    assert USE_TOOL_DEFINITION.description == (
        "Call a tool of a loaded tool group. These tools are not listed here: the result of load_tool_group lists them "
        "with the JSON Schema of their arguments. Call all other tools directly."
    )
    assert USE_TOOL_DEFINITION.parameters == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the tool"},
            "arguments": {"type": "object", "description": "Its arguments, as its JSON Schema asks for them"},
        },
        "required": ["name", "arguments"],
    }


def test_a_request_with_a_dispatcher_in_it_has_one():
    own = replace(tool("use_tool"), description="Another's.")
    sent = dispatched_request(request(user("hi"), core=(*CORE, own)))
    assert list(sent.tools) == [*CORE, USE_TOOL_DEFINITION]


def test_a_group_that_is_described_in_the_system_prompt_has_lines_and_schemas():
    sent = dispatched_request(replace(request(user("go on"), groups=[MAIL]), system_prompt=""))
    assert sent.system_prompt == (
        "The tool group 'mail' is loaded. Its tools:\n- mail_send: Does mail_send. And more.\n"
        "Call them through use_tool. The JSON Schema of the arguments of each:\n"
        'mail_send: {"type":"object","properties":{"mail_send_text":{"type":"string"}}}'
    )
