"""An answer in an endless cycle is stopped; ordinary texts that repeat are not."""

import itertools
import random

import pytest
from model_server import End, ModelServer, Reply, chunk, sse
from oneclaw_http_providers.repetition import RepetitionGuard
from oneclaw_openai.chat import OpenAIChatProvider
from provider_session import Service, hello

from oneclaw_core.types.model_requests import ModelResponse, ReasoningDelta, TextDelta

SENTENCES = "Let me run the gate scripts now. First I look at the log of the last run, then I try it again.\n"
CYCLES = {
    "word": "the ",
    "sentence": "Let me do it. ",
    "lines": "I should check item one.\nDone. Sent.\n\n",
    "paragraphs": SENTENCES * 3 + "Wait, that was the wrong directory. " * 2,
    "marks": "!",
    "chinese": "让我再检查一下。",
}


def shown_until_stopped(pieces, most=200_000):
    guard, length = RepetitionGuard(), 0
    for piece in pieces:
        length += len(piece)
        if guard.repeats(piece):
            return length
        if length > most:
            break
    return None


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_a_cycle_is_stopped_within_a_bound(cycle, size):
    text = CYCLES[cycle]
    source = itertools.chain("Of course: ", itertools.cycle(text))
    pieces = iter(lambda: "".join(itertools.islice(source, size)), "")
    assert shown_until_stopped(pieces) < 90_000


ROW = "| n/a | n/a | pending | n/a |\n"
ORDINARY = {
    "table": ROW * 300,
    "numbered table": "".join(f"| {number} | pending |\n" for number in range(3_000)),
    "drawing": ("#" + " " * 98 + "#\n") * 400,
    "chess board": ("# " * 40 + "\n" + " #" * 40 + "\n") * 300,
    "matrix": ("0, " * 64 + "\n") * 200,
    "blanks in code": "def f():\n" + " " * 20_000 + "pass\n",
    "rule": "=" * 30_000,
    "lines to write a hundred times": "I will not talk in class.\n" * 300,
    "random words": " ".join(random.Random(1).choices(["a", "few", "words", "that", "come", "again"], k=30_000)),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_texts_that_repeat_are_not_stopped(name):
    text = ORDINARY[name]
    assert shown_until_stopped(text[place : place + 5] for place in range(0, len(text), 5)) is None


@pytest.mark.parametrize("key", ["content", "reasoning_content"])
def test_the_answer_ends_there_and_is_not_said_to_be_complete(key):
    service = Service(OpenAIChatProvider, "openai_compatible", hello("m"))
    piece = sse([chunk({key: "Let me do"}), chunk({key: " it. "})], done=False)
    reply = Reply(200, {"Content-Type": "text/event-stream"}, [piece * 200] * 15, End.SILENCE)
    with ModelServer([reply]) as server:
        [events], _ = service.ask(service.config(server.url))
        assert server.client_left.wait(10)
    response = events[-1]
    assert isinstance(response, ModelResponse)
    assert (response.stop_reason, response.finish_reason) == ("repetition", "repetition")
    shown = "".join(each.text for each in events if isinstance(each, TextDelta))
    assert shown == response.text
    assert bool(shown) == (key == "content")
    assert sum(len(each.text) for each in events if isinstance(each, TextDelta | ReasoningDelta)) < 30_000
