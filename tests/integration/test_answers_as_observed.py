"""Plugins see ids, names of models, times and kinds of errors of an answer, with every wire format."""

import asyncio
from contextlib import contextmanager

import pytest
from model_server import ModelServer, text
from wire_formats import FORMATS, each_of

from oneclaw_core import ModelWork, OneClaw, ProviderError, TurnWork, hookimpl

NAMES = {
    "openai_compatible": ("chatcmpl-1", "test"),
    "openai": ("resp_1", "gpt-x"),
    "anthropic": ("msg_1", "claude-test"),
    "gemini": ("gemini-1", "gemini-2.5-pro-001"),
}


class Watch:
    def __init__(self):
        self.works = []

    @hookimpl
    def around(self, context, work):
        self.works.append(work)
        return self._entered()

    @contextmanager
    def _entered(self):
        yield

    def of(self, kind):
        return [work for work in self.works if isinstance(work, kind)]


def watched(tmp_path, model, reply, raises=None):
    watch = Watch()

    async def run(url):
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
        environ = dict.fromkeys(names, url) | dict.fromkeys(keys, "sk-1")
        plugins = ["builtin", "openai", "anthropic", "gemini", watch]
        async with OneClaw.open(tmp_path, environ=environ, plugins=plugins) as claw:
            async for _ in claw.send_message("Hello", model=model):
                pass

    with ModelServer([reply]) as server:
        if raises is None:
            asyncio.run(run(server.url))
        else:
            with pytest.raises(raises):
                asyncio.run(run(server.url))
    return watch


@pytest.mark.parametrize("wire", each_of(FORMATS))
def test_the_id_of_the_answer_and_the_name_of_the_model_that_gave_it(tmp_path, wire):
    (work,) = watched(tmp_path, wire.full_model, wire.says("Hello, you.")).of(ModelWork)
    assert (work.answer.response.response_id, work.answer.response.response_model) == NAMES[wire.provider]
    assert 0 < work.answer.first_chunk_ms <= work.answer.duration_ms


@pytest.mark.long
def test_without_any_name_there_is_none(tmp_path):
    reply = text("Hello.")
    bare = [piece.replace(b'"id": "chatcmpl-1", ', b"").replace(b'"model": "test", ', b"") for piece in reply.pieces]
    (work,) = watched(tmp_path, "openai_compatible/test", type(reply)(pieces=bare, headers=reply.headers)).of(ModelWork)
    assert (work.answer.response.response_id, work.answer.response.response_model) == (None, None)


def test_the_kind_of_error_that_ended_the_turn(tmp_path):
    wire = FORMATS[0]
    watch = watched(tmp_path, wire.full_model, wire.refuses(401, "wrong key"), raises=ProviderError)
    assert watch.of(TurnWork)[0].outcome.error_type == "ProviderAuthenticationError"
    assert watch.of(ModelWork)[0].answer.first_chunk_ms is None
