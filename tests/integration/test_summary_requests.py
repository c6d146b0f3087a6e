"""A summary is asked for at the end of the conversation, so that the service has nearly all of it in its cache."""

import asyncio
import json

import pytest
from model_server import ModelServer, silence
from wire_formats import FORMATS, OTHERS

from oneclaw_core import OneClaw, ToolResult, UsageEvent, tool
from oneclaw_core.errors import ProviderRequestError, TurnStoppedError
from oneclaw_core.types.events import CompactedEvent

PROVIDERS = {wire.provider: wire for wire in FORMATS}
# How long the answer may be is not a part of what the model reads.
LIMITS = {"max_tokens", "max_completion_tokens", "max_output_tokens", "generationConfig"}
NOTE = ("read_note", {})
IN_WORDS = "Write a summary of it now."
AS_TEXT = "You summarise the oldest part of a conversation"


@tool
def read_note() -> ToolResult:
    """Read the note."""
    return ToolResult.success("The note goes on and on. " * 800)


def play(home, server, story):
    """Run a story in a home whose models are those of the server."""
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    environ = dict.fromkeys(names, server.url) | {"ONECLAW_DISABLED_PLUGINS": OTHERS}

    async def run():
        async with OneClaw.open(home, environ=environ, start_directory=home) as claw:
            claw.add_tools(read_note)
            return await story(claw)

    return asyncio.run(run())


async def said(claw, wire, text):
    return [event async for event in claw.send_message(text, session="s", model=wire.full_model)]


def two_turns(wire):
    return [wire.calls(NOTE, NOTE), wire.says("It is a long note."), wire.calls(NOTE), wire.says("Still long.")]


def uncached(wire, earlier, later):
    """The characters of the later request that do not stand in the earlier one at the same place."""
    before, after = (
        {key: value for key, value in wire.members(each).items() if key not in LIMITS} for each in (earlier, later)
    )
    found = 0
    is_same = True
    for key, value in after.items():
        given = before.get(key, "").rstrip("]}")
        is_same = is_same and value.startswith(given)
        found += len(value) - len(given) if is_same else len(value)
    return found


@pytest.mark.long
@pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: wire.provider)
def test_a_summary_is_asked_for_behind_what_the_service_has_cached(tmp_path, wire):
    async def story(claw):
        await said(claw, wire, "What is in the notes?")
        await said(claw, wire, "And in the third?")
        compacted = await claw.compact("s", model=wire.full_model)
        await said(claw, wire, "Thanks.")
        return compacted, await claw.store.usage_totals()

    with ModelServer([*two_turns(wire), wire.says("Three notes were read."), wire.says("You are welcome.")]) as server:
        compacted, totals = play(tmp_path, server, story)
    assert (compacted.messages, compacted.reason) == (7, "requested")
    assert totals.requests == 6  # that of the summary counts
    *_, last, asked, after = server.contents
    assert uncached(wire, last, asked) < 3_000 < 50_000 < len(last)
    body = json.dumps(wire.history(json.loads(asked)))
    assert IN_WORDS in body
    assert 'stays in view: \\"And in the third?\\"' in body
    assert "Three notes were read." in after.decode()
    assert IN_WORDS not in after.decode()


@pytest.mark.long
@pytest.mark.parametrize(
    "refused",
    [
        lambda wire: wire.calls(NOTE),
        lambda wire: wire.says(""),
        lambda wire: wire.refuses(400, "This model's maximum context length is 1000 tokens"),
    ],
    ids=["a call", "nothing", "too long"],
)
def test_without_a_summary_it_is_asked_for_of_the_text(tmp_path, refused):
    wire = PROVIDERS["openai_compatible"]

    async def story(claw):
        await said(claw, wire, "What is in the notes?")
        await said(claw, wire, "And in the third?")
        return await claw.compact("s", model=wire.full_model)

    with ModelServer([*two_turns(wire), refused(wire), wire.says("Three notes.")]) as server:
        assert play(tmp_path, server, story).messages == 7
    first, second = server.bodies[-2:]
    assert IN_WORDS in first["messages"][-1]["content"]
    assert AS_TEXT in second["messages"][0]["content"]
    assert "tools" not in second


def test_a_history_over_the_context_window_is_summarised_as_text(tmp_path):
    wire = PROVIDERS["openai_compatible"]

    async def story(claw):
        await said(claw, wire, "What is in the notes?")
        await claw.store.set_setting(f"model:{wire.full_model}", {"context_window": 6_000})
        return await said(claw, wire, "Thanks.")

    script = [wire.calls(NOTE, NOTE, NOTE), wire.says("Long notes."), wire.says("Notes."), wire.says("Bye.")]
    with ModelServer(script) as server:
        events = play(tmp_path, server, story)
    assert [event.reason for event in events if isinstance(event, CompactedEvent)] == ["context_window"]
    assert sum(isinstance(event, UsageEvent) for event in events) == 2
    assert AS_TEXT in server.bodies[2]["messages"][0]["content"]


@pytest.mark.long
def test_a_stop_ends_the_request_for_a_summary_and_changes_nothing(tmp_path):
    wire = PROVIDERS["openai_compatible"]

    async def story(claw):
        await said(claw, wire, "What is in the notes?")
        await said(claw, wire, "And in the third?")
        compacting = asyncio.create_task(claw.compact("s", model=wire.full_model))
        while len(server.requests) < 5:
            await asyncio.sleep(0.01)
        found = await claw.store.find_session("s")
        await claw.store.request_stop(found.id)
        with pytest.raises(TurnStoppedError):
            await compacting
        return (await claw.store.load_turn(found.id, None)).summary

    with ModelServer([*two_turns(wire), silence()]) as server:
        assert play(tmp_path, server, story) is None
    assert IN_WORDS in server.bodies[4]["messages"][-1]["content"]


@pytest.mark.long
def test_a_model_that_writes_no_summary_at_all_leaves_the_session_as_it_was(tmp_path):
    wire = PROVIDERS["openai_compatible"]

    async def story(claw):
        await said(claw, wire, "What is in the notes?")
        await said(claw, wire, "And in the third?")
        text = r"^the model wrote no summary; nothing was changed\. Try again, or with another model$"
        with pytest.raises(ProviderRequestError, match=text):
            await claw.compact("s", model=wire.full_model)

    with ModelServer([*two_turns(wire), *[wire.says("")] * 3]) as server:
        play(tmp_path, server, story)
    assert len(server.requests) == 7
