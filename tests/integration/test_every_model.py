"""Whole sessions with every wire format: from a message to the bytes that the service gets, and back.

Each ``said`` opens the home anew, as a new process does; ``oneclaw`` starts a real one, and ``ended`` and ``command``
run the program in this one. What holds for every format is shown with one of them on each Python, with the rest on one.
"""

import asyncio
import io
import itertools
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from how_long import some
from model_server import ModelServer
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_gemini.provider import GeminiProvider
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider
from wire_formats import CORE, FORMATS, OTHERS, PDF, SEAL, THOUGHT, each_of

from oneclaw_core import OneClaw, RetryEvent, TextEvent, ToolResultEvent, TurnFinishedEvent, UsageError
from oneclaw_core.cli.main import main
from oneclaw_core.config.prices import cost_of
from oneclaw_core.config.providers import Providers
from oneclaw_core.errors import ProviderAuthenticationError, ProviderUnavailableError, SpendingLimitError
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.types.events import CompactedEvent, GroupLoadedEvent, UsageEvent
from oneclaw_core.types.messages import Attachment, MessageType, ToolCallStatus

EXAMPLES = Path(__file__).parents[2] / "examples"
REPORT = {"path": "quarterly-report.pdf"}
LOAD = ("load_tool_group", {"group_name": "pdf"})
INFO = ("pdf_info", REPORT)
KEY = "sk-canary-7f3a9b2c5d"
OTHER_KEY = "sk-canary-stored-e81b07"
PROVIDERS = (AnthropicProvider, GeminiProvider, OpenAIChatProvider, OpenAIResponsesProvider)
WIRES = {wire.provider: wire for wire in FORMATS}
OTHERS_VARIABLES = re.compile(r"(ONECLAW|OPENAI|ANTHROPIC|GEMINI|GOOGLE|OLLAMA)_\w+|\w+_API_KEY")

every_format = pytest.mark.parametrize("wire", each_of(FORMATS))
# What the core does before or after a request, whatever its format.
some_formats = pytest.mark.parametrize("wire", each_of(some(FORMATS, 3)))
native_formats = pytest.mark.parametrize("wire", each_of(some([wire for wire in FORMATS if wire.loads_natively], 2)))


def addresses(server):
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    return dict.fromkeys(names, server.url) | {"ONECLAW_DISABLED_PLUGINS": OTHERS}


def said(home, environ, wire, message, *, session="s", attachments=()):
    """Send a message, and give the events of the turn."""

    async def send():
        async with OneClaw.open(home, environ=environ, start_directory=EXAMPLES) as claw:
            options = {"session": session, "model": wire.full_model, "attachments": attachments}
            return [event async for event in claw.send_message(message, **options)]

    return asyncio.run(send())


def stored(home, session="s"):
    """The history of a session, ``None`` if there is none, and the settings."""

    async def read():
        async with OneClaw.open(home, environ={"ONECLAW_DISABLED_PLUGINS": OTHERS}, start_directory=EXAMPLES) as claw:
            found = await claw.store.find_session(session)
            return found and await claw.store.messages(found.id), await claw.store.settings()

    return asyncio.run(read())


def oneclaw(home, environ, *arguments, stdin=""):
    """Run the program; environ is all that it knows of providers and settings."""
    inherited = {name: value for name, value in os.environ.items() if not OTHERS_VARIABLES.fullmatch(name)}
    finished = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *arguments],
        env=inherited | environ | {"ONECLAW_HOME": str(home)},
        cwd=EXAMPLES,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return without_traceback(finished)


def without_traceback(finished):
    assert "Traceback" not in finished.stderr
    return finished


def succeeded(finished):
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def ended(home, environ, *arguments, stdin=""):
    """Run the program in this process, with what it inherits as ``oneclaw`` has it."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as shown,
        redirect_stderr(io.StringIO()) as errors,
        TemporaryFile("w+") as typed,
    ):
        typed.write(stdin)
        typed.seek(0)
        for name in filter(OTHERS_VARIABLES.fullmatch, list(os.environ)):
            patch.delenv(name)
        for name, value in (environ | {"ONECLAW_HOME": str(home)}).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", typed)
        patch.chdir(EXAMPLES)
        status = main(list(arguments))
    return without_traceback(subprocess.CompletedProcess(arguments, status, shown.getvalue(), errors.getvalue()))


def command(home, *arguments, environ=None, stdin=""):
    """What a run of the program in this process prints."""
    return succeeded(ended(home, {"ONECLAW_DISABLED_PLUGINS": OTHERS} | (environ or {}), *arguments, stdin=stdin))


def override(home, wire, key, value):
    command(home, "models", "set", wire.full_model, key, value)


def results(events):
    """The results of calls of grouped tools: each the status, and whether it tells what it should."""
    outcomes = [event for event in events if isinstance(event, ToolResultEvent) and event.name in PDF]
    return [(event.result.is_success, "Pages: 6" in event.result.text()) for event in outcomes]


def of_type(kind, events):
    return [event for event in events if isinstance(event, kind)]


# Loading a group


@pytest.mark.parametrize(
    ("wire", "database_environ", "run"),
    [
        pytest.param(WIRES["anthropic"], "sqlite", ended, id="anthropic"),
        pytest.param(WIRES["gemini"], "sqlite", ended, id="gemini", marks=[pytest.mark.one_python, pytest.mark.long]),
        pytest.param(WIRES["openai"], "sqlite", ended, id="openai", marks=[pytest.mark.one_python, pytest.mark.long]),
        pytest.param(
            WIRES["openai_compatible"],
            "sqlite",
            oneclaw,
            id="process",
            marks=[pytest.mark.one_python, pytest.mark.long],
        ),
        pytest.param(
            WIRES["openai"], "postgresql", oneclaw, id="postgresql", marks=[pytest.mark.one_python, pytest.mark.long]
        ),
    ],
    indirect=["database_environ"],
)
def test_a_group_stays_loaded_and_every_request_goes_on_from_the_one_before(tmp_path, wire, database_environ, run):
    script = [
        wire.calls(LOAD, thought=THOUGHT),
        wire.calls(INFO, thought=THOUGHT),
        wire.says("Six pages.", thought=THOUGHT),
        wire.calls(INFO),
        wire.says("Still six."),
    ]
    with ModelServer(script) as server:
        environ = addresses(server) | database_environ
        first = said(tmp_path, environ, wire, "How many pages?")
        arguments = ("run", "--session", "s", "--model", wire.full_model, "--json", "And now?")
        second = succeeded(run(tmp_path, environ, *arguments))
    assert all(request.path.endswith(wire.path) for request in server.requests)
    assert [event.tools for event in of_type(GroupLoadedEvent, first)] == [tuple(PDF)]
    assert results(first) == [(True, True)]
    assert first[-1] == TurnFinishedEvent("s", "Six pages.")
    events = [json.loads(line) for line in second.splitlines()]
    assert [event["event"] for event in events if event["event"] != "text"] == [
        "usage",
        "tool_call",
        "tool_result",
        "usage",
        "turn_finished",
    ]
    assert "Pages: 6" in next(event["result"] for event in events if event["event"] == "tool_result")

    assert [wire.at_hand(body) for body in server.bodies] == [CORE, *[CORE + PDF] * 4]
    for body in server.bodies[1:]:
        wire.assert_loaded(body)
    for earlier, later in itertools.pairwise(server.contents):
        wire.assert_goes_on(earlier, later)


@native_formats
def test_a_model_that_refuses_the_native_way_is_asked_in_the_plain_way_from_then_on(tmp_path, wire):
    # The services differ in when they first meet what they do not know: with the first request, or with a loaded group.
    answers = iter([wire.calls(LOAD), wire.calls(INFO), wire.says("Six."), wire.says("Hello."), wire.says("Again.")])

    def script(body):
        return wire.refuses(400, wire.native_refusal) if is_native(wire, body) else next(answers)

    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), wire, "How many pages?")
        refused = [is_native(wire, body) for body in server.bodies]
        said(tmp_path, addresses(server), wire, "Hello")
        in_next_process = server.bodies[len(refused) :]
        override(tmp_path, wire, "tool_loading", "native")
        said(tmp_path, addresses(server), wire, "Hello again")
        after_override = server.bodies[len(refused) + 1 :]
    assert results(first) == [(True, True)]
    assert refused.count(True) == 1
    assert [wire.declared(body) for body in in_next_process] == [CORE + PDF]
    assert not is_native(wire, in_next_process[0])
    assert stored(tmp_path)[1][f"learned:{wire.full_model}"]["tool_loading"] == "append"
    assert [is_native(wire, body) for body in after_override] == [True, False]


def is_native(wire, body):
    """Whether a request has something in it that only the native way has."""
    return "additional_tools" in json.dumps(body["input"]) if wire.provider == "openai" else has_deferred_tools(body)


def has_deferred_tools(body):
    return any("defer_loading" in tool for tool in body["tools"])


@native_formats
def test_what_is_refused_in_both_ways_teaches_nothing(tmp_path, wire):
    refusal = wire.refuses(400, wire.native_refusal)
    script = [wire.calls(LOAD), refusal, refusal, refusal, wire.says("Fine.")]  # the third without the result
    with ModelServer(script) as server:
        with pytest.raises(Exception, match="refuses the request"):
            said(tmp_path, addresses(server), wire, "How many pages?")
        said(tmp_path, addresses(server), wire, "Hello")
    natively = [is_native(wire, body) for body in server.bodies[1:]]
    assert (natively[:2], natively[-1]) == ([True, False], True)
    assert f"learned:{wire.full_model}" not in stored(tmp_path)[1]


MESSAGES = WIRES["anthropic"]
NOT_INLINE = "messages.3: tool_addition requires a model that supports mid-conversation tool changes"


def is_inline(body):
    return "tool_addition" in json.dumps(body["messages"])


@pytest.mark.long
def test_definitions_in_the_conversation_leave_all_before_them_as_it_was(tmp_path):
    calls_info = MESSAGES.calls(INFO, thought=THOUGHT)
    script = [MESSAGES.calls(LOAD, thought=THOUGHT), calls_info, MESSAGES.says("Six."), calls_info, MESSAGES.says("6.")]
    override(tmp_path, MESSAGES, "tool_loading", "inline")
    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), MESSAGES, "How many pages?")
        arguments = ("run", "--session", "s", "--model", MESSAGES.full_model, "--json", "And now?")
        command(tmp_path, *arguments, environ=addresses(server))
    assert results(first) == [(True, True)]
    assert [is_inline(body) for body in server.bodies] == [False, *[True] * 4]
    assert not any(set(PDF) & set(MESSAGES.declared(body)) for body in server.bodies)
    for earlier, later in itertools.pairwise(server.contents):
        MESSAGES.assert_goes_on(earlier, later)
    # Nothing of it is taken for a break of the prefix.
    assert usage_by_model(tmp_path)["prefix_breaks"] == 0


@pytest.mark.long
def test_a_model_that_refuses_definitions_in_the_conversation_is_asked_natively_until_it_is_to_be_tried_again(tmp_path):
    answers = iter([MESSAGES.calls(LOAD), MESSAGES.says("Loaded."), MESSAGES.says("Hello."), MESSAGES.says("Again.")])

    def script(body):
        return MESSAGES.refuses(400, NOT_INLINE) if is_inline(body) else next(answers)

    override(tmp_path, MESSAGES, "tool_loading", "inline")
    with ModelServer(script) as server:
        said(tmp_path, addresses(server), MESSAGES, "How many pages?")
        said(tmp_path, addresses(server), MESSAGES, "Hello")
        assert stored(tmp_path)[1][f"learned:{MESSAGES.full_model}"]["tool_loading"] == "native"
        override(tmp_path, MESSAGES, "tool_loading", "inline")
        said(tmp_path, addresses(server), MESSAGES, "Hello again")
    assert [is_inline(body) for body in server.bodies] == [False, True, False, False, True, False]
    assert all(has_deferred_tools(server.bodies[place]) for place in (2, 3, 5))


@pytest.mark.long
@every_format
def test_with_a_dispatcher_the_list_of_tools_never_changes(tmp_path, wire):
    use = ("use_tool", {"name": "pdf_info", "arguments": REPORT})
    script = [
        wire.calls(LOAD, thought=THOUGHT),
        wire.calls(use, thought=THOUGHT),
        wire.says("Six pages."),
        wire.calls(use),
        wire.says("Still six."),
    ]
    override(tmp_path, wire, "tool_loading", "dispatch")
    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), wire, "How many pages?")
        second = said(tmp_path, addresses(server), wire, "And now?")
    assert results(first) == results(second) == [(True, True)]
    assert len({wire.members(content)[wire.keys[0]] for content in server.contents}) == 1
    assert {tuple(wire.at_hand(body)) for body in server.bodies} == {(*CORE, "use_tool")}
    for earlier, later in itertools.pairwise(server.contents):
        wire.assert_goes_on(earlier, later)
    history, _ = stored(tmp_path)
    calls = [message for message in history if message.type is MessageType.TOOL_CALL]
    assert [(call.tool_name, call.tool_status) for call in calls] == [
        ("load_tool_group", ToolCallStatus.SUCCESS),
        ("pdf_info", ToolCallStatus.SUCCESS),
        ("pdf_info", ToolCallStatus.SUCCESS),
    ]
    assert json.loads(calls[1].tool_input) == REPORT


@pytest.mark.long
@some_formats
def test_a_session_begun_without_a_dispatcher_goes_on_with_one(tmp_path, wire):
    use = ("use_tool", {"name": "pdf_info", "arguments": REPORT})
    script = [wire.calls(LOAD), wire.calls(INFO), wire.says("Six pages."), wire.calls(use), wire.says("Still six.")]
    with ModelServer(script) as server:
        said(tmp_path, addresses(server), wire, "How many pages?")
        override(tmp_path, wire, "tool_loading", "dispatch")
        events = said(tmp_path, addresses(server), wire, "And now?")
    assert results(events) == [(True, True)]
    history = json.dumps(wire.history(server.bodies[3]))
    assert history.count('"use_tool"') >= 1
    assert '"namespace"' not in history  # of OpenAI's way of loading, which the request has nothing of any more


# From one provider to another

EVERYWHERE = [(WIRES["anthropic"], WIRES["gemini"]), (WIRES["openai"], WIRES["openai_compatible"])]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            *pair,
            id="-".join(wire.provider for wire in pair),
            marks=() if pair in EVERYWHERE else pytest.mark.one_python,
        )
        for pair in some([*EVERYWHERE, *((second, first) for first, second in EVERYWHERE)], 3)
    ],
)
def test_a_session_goes_on_with_another_provider_and_back(tmp_path, first, second):
    script = [
        first.calls(LOAD, ("get_current_time", {}), thought=THOUGHT),
        first.says("Loaded.", thought=THOUGHT),
        second.calls(INFO),
        second.says("Six pages."),
        first.says("I thought so."),
    ]
    with ModelServer(script) as server:
        here = said(tmp_path, addresses(server), first, "Load it")
        there = said(tmp_path, addresses(server), second, "How many pages?")
        said(tmp_path, addresses(server), first, "Sure?")
    (time,) = [event.result.text() for event in of_type(ToolResultEvent, here) if event.name == "get_current_time"]
    assert results(there) == [(True, True)]
    for body, content in zip(server.bodies[2:4], server.contents[2:4], strict=True):
        assert second.at_hand(body) == CORE + PDF
        assert time in content.decode()
        assert b"Loaded." in content
        assert THOUGHT.encode() not in content
        assert SEAL.encode() not in content
    assert second.system_prompt(server.bodies[2]) == first.system_prompt(server.bodies[0])
    # Back with the first, what it thought is its own again, and all it was sent then stands as it stood.
    assert THOUGHT.encode() in server.contents[4]
    assert b"Pages: 6" in server.contents[4]
    first.assert_goes_on(server.contents[1], server.contents[4])


# Attachments


PNG = Attachment("chart.png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
A_PDF = Attachment("report.pdf", "application/pdf", (EXAMPLES / "quarterly-report.pdf").read_bytes())


@every_format
def test_files_arrive_and_stay_in_the_conversation(tmp_path, wire):
    files = [PNG, A_PDF] if wire.takes_pdf else [PNG]
    with ModelServer([wire.says("A chart."), wire.says("As I said.")]) as server:
        said(tmp_path, addresses(server), wire, "What is this?", attachments=files)
        said(tmp_path, addresses(server), wire, "Sure?")
    for body in server.bodies:
        assert wire.files(body) == [(each.media_type, each.data) for each in files]
    wire.assert_goes_on(*server.contents)


@pytest.mark.long
@some_formats
def test_a_model_that_takes_no_files_refuses_them_before_anything_is_stored(tmp_path, wire):
    override(tmp_path, wire, "input_media_types", "none")
    with ModelServer([]) as server, pytest.raises(UsageError, match=r"takes no attachments, not chart\.png"):
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
    assert server.requests == []
    assert stored(tmp_path)[0] is None


@pytest.mark.long
@every_format
def test_a_session_with_files_goes_on_with_a_model_that_takes_none(tmp_path, wire):
    with ModelServer([wire.says("A chart."), wire.says("It was a chart.")]) as server:
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
        override(tmp_path, wire, "input_media_types", "none")
        said(tmp_path, addresses(server), wire, "What was it?")
    assert wire.files(server.bodies[1]) == []
    assert b"[chart.png (image/png) cannot be shown to this model]" in server.contents[1]


@pytest.mark.long
def test_the_offline_rules_take_no_files(tmp_path):
    arguments = ("run", "--session", "s", "--model", "offline/rules", "--attach", "quarterly-report.pdf", "Look")
    refused = ended(tmp_path, {}, *arguments)
    assert refused.returncode == 2
    assert "offline/rules takes no attachments, not quarterly-report.pdf" in refused.stderr
    assert stored(tmp_path)[0] is None


# Usage, cost and limits


def usage_by_model(home):
    report = json.loads(command(home, "usage", "--by", "model", "--json"))
    (row,) = report["rows"]
    return row


@pytest.mark.long
@every_format
def test_usage_and_cost_at_the_vendors_own_address(tmp_path, monkeypatch, wire):
    script = [wire.calls(LOAD), wire.calls(INFO), wire.says("Six pages."), wire.says("You are welcome.")]
    with ModelServer(script) as server:
        for provider in PROVIDERS:
            monkeypatch.setattr(provider, "default_base_url", server.url)
        key = {wire.key_variable: KEY}  # which a vendor always wants
        events = said(tmp_path, key, wire, "How many pages?")
        said(tmp_path, key, wire, "Thanks")
    cost = cost_of(Providers({}, {}, load_plugins(frozenset()).known_providers)[wire.provider], wire.model, wire.usage)
    assert cost > 0
    assert {(event.usage, event.cost) for event in of_type(UsageEvent, events)} == {(wire.usage, cost)}
    row = usage_by_model(tmp_path)
    assert (row["model"], row["requests"], row["priced_requests"]) == (wire.full_model, 4, 4)
    assert row["cost"] == pytest.approx(4 * cost)
    assert row["input_tokens"] == 4 * wire.usage.input_tokens
    assert row["cached_share"] == round(wire.usage.cached_input_tokens / wire.usage.input_tokens, 4)
    # A group that is appended comes before the conversation, which then has to be read anew: once.
    breaks = 0 if wire.loads_natively else 1
    assert (row["prefix_breaks"], row["changes"]["tools"]) == (breaks, breaks)


@pytest.mark.long
@some_formats
def test_a_server_of_ones_own_has_no_known_price_and_a_broken_prefix_is_told(tmp_path, wire):
    with ModelServer([wire.calls(LOAD), wire.says("Loaded."), wire.says("Hello.")]) as server:
        events = said(tmp_path, addresses(server), wire, "Load it")
        said(tmp_path, addresses(server) | {"ONECLAW_DISABLED_PLUGINS": "pdf"}, wire, "Hello")
    assert {event.cost for event in of_type(UsageEvent, events)} == {None}
    row = usage_by_model(tmp_path)
    assert (row["cost"], row["priced_requests"], row["requests"]) == (None, 0, 3)
    # The system prompt stays as it was; where the group was appended, its coming and going are two breaks.
    assert (row["changes"]["system_prompt"], row["changes"]["tools"]) == (0, 0 if wire.loads_natively else 2)
    assert row["prefix_breaks"] == (0 if wire.loads_natively else 2)


@pytest.mark.long
@some_formats
def test_a_turn_stops_at_its_limit_before_the_next_request_and_the_session_goes_on(tmp_path, wire):
    with ModelServer([wire.calls(LOAD), wire.says("Loaded.")]) as server:
        limited = addresses(server) | {"ONECLAW_TURN_MAX_TOKENS": "10"}
        with pytest.raises(SpendingLimitError, match="turn_max_tokens"):
            said(tmp_path, limited, wire, "Load it")
        assert len(server.requests) == 1
        events = said(tmp_path, addresses(server) | {"ONECLAW_TURN_MAX_TOKENS": "10000"}, wire, "Go on")
    assert events[-1].text == "Loaded."
    assert wire.at_hand(server.bodies[1]) == CORE + PDF


# Compaction


@pytest.mark.long
@every_format
def test_a_conversation_too_long_for_its_model_is_summarised_and_keeps_its_groups(tmp_path, wire):
    script = [
        wire.calls(LOAD, thought=THOUGHT),
        wire.says("Loaded."),
        wire.says("I see."),
        wire.says("The user pasted the letter A."),
        wire.calls(INFO),
        wire.says("Six pages."),
    ]
    with ModelServer(script) as server:
        said(tmp_path, addresses(server), wire, "Load it")
        said(tmp_path, addresses(server), wire, "A" * 12_000)
        override(tmp_path, wire, "context_window", "3000")
        events = said(tmp_path, addresses(server), wire, "How many pages?")
    assert [event.reason for event in of_type(CompactedEvent, events)] == ["context_window"]
    assert results(events) == [(True, True)]
    summary, shorter, last = server.bodies[3:]
    assert wire.at_hand(summary) == []
    assert re.search(rb'[tT]okens":750\b', server.contents[3])  # a quarter of the window, not as long as it likes
    assert len(server.contents[4]) < len(server.contents[2]) - 10_000
    assert "The user pasted the letter A." in json.dumps(wire.history(shorter))
    assert sorted(wire.at_hand(shorter)) == sorted(wire.at_hand(last)) == sorted(CORE + PDF)
    wire.assert_goes_on(*server.contents[4:])


@pytest.mark.long
@every_format
def test_a_conversation_that_the_service_finds_too_long_is_summarised(tmp_path, wire):
    too_long = wire.refuses(400, "the prompt is too long: 210000 tokens > 200000 maximum")
    script = [
        wire.says("I see."),
        wire.says("I see."),
        too_long,
        wire.says("The user pasted the letter A."),
        wire.says("The letter A."),
    ]
    with ModelServer(script) as server:
        for message in ("A" * 12_000, "Thanks"):
            said(tmp_path, addresses(server), wire, message)
        events = said(tmp_path, addresses(server), wire, "What was it?")
    assert [event.reason for event in of_type(CompactedEvent, events)] == ["refused"]
    assert events[-1].text == "The letter A."
    assert len(server.contents[4]) < len(server.contents[2]) - 10_000


@pytest.mark.long
@some_formats
def test_a_summary_is_asked_for_with_the_dispatcher_that_the_session_has(tmp_path, wire):
    async def compact(environ):
        async with OneClaw.open(tmp_path, environ=environ, start_directory=EXAMPLES) as claw:
            return await claw.compact("s", model=wire.full_model)

    script = [wire.calls(LOAD), wire.says("Loaded."), wire.says("Fine."), wire.says("A summary."), wire.says("Bye.")]
    override(tmp_path, wire, "tool_loading", "dispatch")
    with ModelServer(script) as server:
        for message in ("Load it", "How are you?"):
            said(tmp_path, addresses(server), wire, message)
        assert asyncio.run(compact(addresses(server))).messages == 5
        said(tmp_path, addresses(server), wire, "Bye")
    assert wire.at_hand(server.bodies[3]) == [*CORE, "use_tool"]
    # The result that told the schemas is gone; the system prompt tells them now.
    assert wire.at_hand(server.bodies[4]) == [*CORE, "use_tool"]
    assert "pdf_info: {" in wire.system_prompt(server.bodies[4])


@pytest.mark.long
@some_formats
def test_compact_on_demand(tmp_path, wire):
    script = [wire.calls(LOAD), wire.says("Loaded."), wire.says("Fine."), wire.says("A summary."), wire.says("Bye.")]
    with ModelServer(script) as server:
        lines = "Load it\nHow are you?\n/compact\nBye\n"
        arguments = ("chat", "--session", "s", "--model", wire.full_model)
        shown = command(tmp_path, *arguments, environ=addresses(server), stdin=lines)
    assert "summarised for the model" in shown
    assert wire.at_hand(server.bodies[3]) == wire.at_hand(server.bodies[2])
    assert sorted(wire.at_hand(server.bodies[4])) == sorted(CORE + PDF)
    assert b"A summary." in server.contents[4]
    assert b"Loaded." not in server.contents[4]
    history, _ = stored(tmp_path)
    assert [message.content for message in history if message.type is MessageType.USER] == [
        "Load it",
        "How are you?",
        "Bye",
    ]


# Keys


@pytest.mark.long
@every_format
def test_a_key_is_sent_to_the_service_and_shown_nowhere(tmp_path, wire):
    home = tmp_path / "home"
    refusals = [wire.refuses(401, f"Incorrect API key provided: {key}") for key in (KEY, OTHER_KEY)]
    with ModelServer([*refusals, wire.says("Hello.")]) as server:
        arguments = ("run", "--session", "s", "--model", wire.full_model, "Hello")
        run = oneclaw if wire.provider == "gemini" else ended
        finished = run(home, addresses(server) | {wire.key_variable: KEY}, *arguments)
        setting = ("keys", "set", "--file", wire.provider)  # for the server that the provider is at
        shown = command(home, *setting, environ=addresses(server), stdin=OTHER_KEY + "\n")
        with pytest.raises(ProviderAuthenticationError, match=wire.key_variable) as refused:
            said(home, addresses(server), wire, "Hello")
        assert said(home, addresses(server), wire, "Hello")[-1].text == "Hello."
    headers = [" ".join(request.headers.values()) for request in server.requests]
    assert [(KEY in sent, OTHER_KEY in sent) for sent in headers] == [(True, False), (False, True), (False, True)]
    assert finished.returncode == 1
    assert wire.key_variable in finished.stderr
    shown += f"{finished.stdout} {finished.stderr} {refused.value}"
    assert KEY not in shown
    assert OTHER_KEY not in shown
    files = {file.name: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert [name for name, content in files.items() if KEY.encode() in content] == []
    assert [name for name, content in files.items() if OTHER_KEY.encode() in content] == ["keys.json"]


# What goes wrong on the way


@pytest.mark.long
@some_formats
def test_a_provider_that_is_set_anew_still_ends_the_answer_it_has_begun(tmp_path, wire):
    async def talk(*servers):
        async with OneClaw.open(tmp_path, environ={}, start_directory=EXAMPLES) as claw:
            model = "box/" + wire.model
            turns = []
            for server in servers:
                await claw.store.set_setting("provider:box", {"type": wire.provider, "base_url": server.url})
                turns.append(claw.send_message("Hello", session=server.url, model=model))
                await anext(turns[-1])
            return [[event async for event in turn][-1].text for turn in turns]

    story = " ".join(f"Once upon a time, {number}." for number in range(15_000))
    with ModelServer([wire.says(story)]) as first, ModelServer([wire.says("Hello.")]) as second:
        assert asyncio.run(talk(first, second)) == [story, "Hello."]


@pytest.mark.long
def test_an_answer_is_kept_if_the_user_leaves_while_its_cost_is_worked_out(tmp_path, monkeypatch):
    wire = FORMATS[0]
    go_on = threading.Event()
    monkeypatch.setattr("oneclaw_core.models.spending.load_prices", go_on.wait)
    monkeypatch.setattr("oneclaw_core.models.spending.needs_prices", lambda *_: True)

    async def leave(environ):
        async with OneClaw.open(tmp_path, environ=environ, start_directory=EXAMPLES) as claw:
            shown = asyncio.Event()

            async def listen():
                text = ""
                try:
                    async for event in claw.send_message("Hello", session="s", model=wire.full_model):
                        text += event.text
                        if text == "Hello there.":
                            shown.set()
                finally:
                    shown.set()  # of a turn that fails, lest it be waited for

            turn = asyncio.create_task(listen())
            await shown.wait()
            await asyncio.sleep(0.05)  # whichever of the two moments it is left at, the text is kept
            turn.cancel()
            go_on.set()
            await asyncio.wait([turn])

    with ModelServer([wire.says("Hello there.")]) as server:
        asyncio.run(leave(addresses(server)))
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello there."]
    [row] = json.loads(command(tmp_path, "usage", "--by", "model", "--json"))["rows"]
    assert (row["requests"], row["at_least_requests"], row["input_tokens"]) == (1, 0, wire.usage.input_tokens)


@pytest.mark.long
@every_format
def test_an_answer_that_breaks_off_is_told_and_what_was_read_is_kept(tmp_path, wire):
    with ModelServer([wire.breaks_off_after("Once upon"), wire.says("Hello.")]) as server:
        with pytest.raises(ProviderUnavailableError, match="broke off"):
            said(tmp_path, addresses(server), wire, "Tell me a story")
        events = said(tmp_path, addresses(server), wire, "Go on")
    assert events[-1].text == "Hello."
    assert len(server.requests) == 2  # not asked again by itself: some of it was shown
    assert b"Once upon" in server.contents[1]


@pytest.mark.long
@some_formats
def test_a_service_that_is_busy_is_asked_again(tmp_path, wire):
    busy = wire.refuses(429, "slow down", {"Retry-After": "0"})
    with ModelServer([busy, wire.calls(LOAD), busy, wire.says("Loaded.")]) as server:
        events = said(tmp_path, addresses(server), wire, "Load it")
    assert [event.delay_seconds for event in of_type(RetryEvent, events)] == [0, 0]
    assert "".join(event.text for event in of_type(TextEvent, events)) == "Loaded."
    assert server.contents[0] == server.contents[1]
    assert server.contents[2] == server.contents[3]
