"""offline/rules and the past."""

import asyncio

import pytest

from oneclaw_core import OneClaw, ToolCallEvent
from oneclaw_core.providers.offline.recall import recalled_topic


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("What did I say about tea?", "tea"),
        ("what did you tell me about the garden in May", "the garden in May"),
        ("When did we decide on the colour?", "the colour"),
        ("Have we ever talked about my sister's cat?", "my sister's cat"),
        ("Did I mention anything about Kyoto", "Kyoto"),
        ("what do you remember about me?", "me"),
        ("Find what we discussed regarding taxes.", "taxes"),
    ],
)
def test_questions_about_the_past_are_recognised(message, topic):
    assert recalled_topic(message) == topic


@pytest.mark.parametrize(
    "message",
    [
        "Tell me about tea", "What is tea about?", "Write a note about what happened", "Say something about cats",
        "What did the page say about tea?", "x" * 600, "", "did I say about",
    ],
)  # fmt: skip
def test_other_messages_are_not(message):
    assert recalled_topic(message) is None


def test_plain_sentences_reach_the_tools(tmp_path):
    async def run():
        called = []
        async with OneClaw.open(tmp_path, environ={}, start_directory=tmp_path) as claw:
            for text in ("remember that I like tea", "what did I say about tea?"):
                events = [event async for event in claw.send_message(text)]
                called += [(event.name, event.arguments) for event in events if isinstance(event, ToolCallEvent)]
        return called

    assert asyncio.run(run()) == [
        ("save_memory", {"content": "I like tea"}),
        ("search_history", {"query": "tea"}),
    ]
