"""Ollama: the context that the server really uses, and requests that it would cut."""

import asyncio
import json
from contextlib import nullcontext

import pytest
from history_entries import PNG, user
from model_server import ModelServer, status, text
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.ollama import OllamaProvider, chat_provider
from provider_session import hello

from oneclaw_core import Attachment, OneClaw
from oneclaw_core.providers import ContextTooLongError, ProviderConfig
from oneclaw_core.types.events import CompactedEvent

NO_OTHERS = "shell,web,javascript,skills,memory,config,pdf,scheduled_tasks,google_workspace,browser,mcp,serve,telegram"


class OllamaServer(ModelServer):
    """An Ollama server that answers from a script, and loads models with the context of its settings.

    Args:
        script: answers of ``/v1/chat/completions``.
        context: of models that are loaded without a separate context.
        shown: what ``/api/show`` says of every model; ``None`` for a server without the native API.
        loaded: the contexts of the models that are loaded, by name.
    """

    def __init__(self, script, *, context=4_096, shown=None, loaded=None, has_api=True):
        super().__init__(script)
        self.context = context
        self.shown = {"model_info": {"qwen3.context_length": 40_960}} if shown is None else shown
        self.loaded = dict(loaded or {})
        self.has_api = has_api

    def reply_to(self, request):
        root, _, name = request.path.rpartition("/api/")
        if name not in ("ps", "show", "generate") or root not in ("", "/ollama"):
            return super().reply_to(request)
        self.requests.append(request)
        if not self.has_api:
            return status(404, body={"error": {"message": "not found"}})
        if name == "ps":
            models = [{"name": each, "model": each, "context_length": size} for each, size in self.loaded.items()]
            return status(200, body={"models": models})
        if name == "generate":
            self.loaded[f"{request.body['model']}:latest"] = self.context
            return status(200, body={"done": True})
        return status(200, body=self.shown)

    @property
    def loads(self):
        return len([request for request in self.requests if request.path.endswith("/api/generate")])


def provider(server, path="/v1"):
    root = server.url.removesuffix("/v1")
    return OllamaProvider(ProviderConfig("ollama", "ollama", root + path, max_retries=0))


def run(made, work):
    async def using():
        try:
            return await work(made)
        finally:
            await made.aclose()

    return asyncio.run(using())


def window(server, model="qwen3", path="/v1"):
    return run(provider(server, path), lambda made: made.find_context_window(model))


def test_a_server_on_this_machine_needs_no_key():
    with OllamaServer([text("Hello.")]) as server:
        config = ProviderConfig("ollama", "ollama", server.url.replace("127.0.0.1", "localhost"), max_retries=0)
        models = run(OllamaProvider(config), lambda made: made.list_models())

    assert [each.name for each in models] == ["test"]


def answers(made, *requests):
    async def work(made):
        return [[event async for event in made.stream(request)][-1] for request in requests]

    return run(made, work)


def long(model="qwen3", characters=40_000):
    return hello(model, messages=(user("word " * (characters // 5)),))


def test_a_loaded_model_has_the_context_that_it_was_loaded_with():
    with OllamaServer([], loaded={"qwen3:latest": 8_192, "qwen3:4b": 2_048}) as server:
        assert (window(server), window(server, "QWEN3:4b"), server.loads) == (8_192, 2_048, 0)


def test_a_model_that_is_not_loaded_has_the_context_of_its_modelfile():
    shown = {"parameters": 'stop "<|im_end|>"\nnum_ctx    16384\n', "model_info": {"qwen3.context_length": 40_960}}
    with OllamaServer([], shown=shown) as server:
        assert (window(server), server.loads) == (16_384, 0)
    shown["model_info"] = {"qwen3.context_length": 8_192}
    with OllamaServer([], shown=shown) as server:
        assert window(server) == 8_192


def test_else_the_model_is_loaded_and_the_server_says_what_it_chose():
    with OllamaServer([], context=32_768) as server:
        assert (window(server), window(server), server.loads) == (32_768, 32_768, 1)


def test_a_model_in_the_cloud_reads_all_that_it_can():
    shown = {"remote_host": "https://ollama.com", "model_info": {"kimi.context_length": 262_144}}
    with OllamaServer([], shown=shown) as server:
        assert (window(server), server.loads) == (262_144, 0)


@pytest.mark.parametrize("shown", [[], "x", {"model_info": [], "parameters": 7}, {"parameters": "num_ctx many"}])
def test_what_cannot_be_read_is_not_known(shown):
    with OllamaServer([], shown=shown, context=None) as server:
        assert window(server) is None


def test_a_server_without_the_native_api_is_asked_as_before():
    with OllamaServer([text("Hello.")], has_api=False) as server:
        [answer] = answers(provider(server), long(characters=400_000))
    assert answer.text == "Hello."
    assert len(server.requests) == 2  # the native API is asked for once in a while


def test_the_list_of_models_has_the_contexts_of_those_that_are_loaded():
    with OllamaServer([], loaded={"test:latest": 8_192, "other:latest": 2_048}) as server:
        [model] = run(provider(server), lambda made: made.list_models())
    assert (model.name, model.context_window) == ("test", 8_192)


def test_the_native_api_is_beside_the_base_url():
    with OllamaServer([], loaded={"qwen3:latest": 8_192}) as server:
        assert window(server, path="/ollama/v1/") == 8_192
        assert window(server, path="/ollama") == 8_192


def test_a_request_that_the_server_would_cut_is_not_sent_and_says_what_helps():
    with OllamaServer([text("cut")]) as server:
        with pytest.raises(ContextTooLongError, match="reads 4,096 with qwen3") as refused:
            answers(provider(server), long())
        assert [request.path for request in server.requests if request.path.endswith("completions")] == []
    assert "OLLAMA_CONTEXT_LENGTH=32768" in str(refused.value)
    assert "'PARAMETER num_ctx 32768'" in str(refused.value)


def test_no_more_is_advised_than_the_model_can_read():
    advice = pytest.raises(ContextTooLongError, match="That is all that qwen3 can read")
    with OllamaServer([], shown={"model_info": {"x.context_length": 4_096}}) as server, advice as refused:
        answers(provider(server), long())
    assert "OLLAMA_CONTEXT_LENGTH" not in str(refused.value)


def test_an_image_counts_as_an_image_and_not_by_its_bytes():
    picture = hello("qwen3", messages=(user("Look", Attachment("a.png", "image/png", PNG.data * 2_000)),))
    with OllamaServer([text("A picture.")]) as server:
        assert answers(provider(server), picture)[0].text == "A picture."


@pytest.mark.parametrize(("counted", "fits"), [(1_800, True), (1_200, False), (10_000, False)])
def test_the_servers_own_count_corrects_the_estimate(counted, fits):
    """A count that is far too small is that of a request that was cut, and no reason to send more."""
    short, longer = long(characters=7_000), long(characters=15_000)
    usage = {"prompt_tokens": counted, "completion_tokens": 1}

    async def ask_both(made):
        first = [event async for event in made.stream(short)]
        return first[-1].text, [event async for event in made.stream(longer)][-1].text

    with OllamaServer([text("one", usage=usage), text("two")]) as server:
        with pytest.raises(ContextTooLongError):
            answers(provider(server), longer)
        expected = nullcontext() if fits else pytest.raises(ContextTooLongError)
        with expected:
            assert run(provider(server), ask_both) == ("one", "two")


def test_a_refusal_of_the_server_says_what_helps_too():
    message = "request (5351 tokens) exceeds the available context size (4096 tokens), try increasing it"
    advice = pytest.raises(ContextTooLongError, match="OLLAMA_CONTEXT_LENGTH=16384")
    with OllamaServer([status(400, body={"error": {"message": message}})]) as server, advice:
        answers(provider(server), hello("qwen3"))


def test_ollamas_own_port_is_enough_to_know_it():
    made = {
        address: type(chat_provider(ProviderConfig("x", "openai_compatible", address)))
        for address in ("http://box:11434/v1", "http://box:8000/v1", None)
    }
    assert list(made.values()) == [OllamaProvider, OpenAIChatProvider, OpenAIChatProvider]


@pytest.mark.long
def test_a_session_is_compacted_by_the_context_that_the_server_uses(tmp_path):
    """The user has said more than is true: the server would cut what is longer."""

    def script(body):
        return text("We spoke of words.", usage={"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 5})

    async def talk(server):
        environ = {"ONECLAW_DISABLED_PLUGINS": NO_OTHERS}
        async with OneClaw.open(tmp_path, environ=environ) as claw:
            await claw.configuration.providers.add("box", "ollama", server.url)
            await claw.configuration.models.say("box/qwen3", "context_window", "1000000")
            events = []
            for _ in range(4):
                message = "word " * 1_500
                events += [each async for each in claw.send_message(message, session="s", model="box/qwen3")]
            return events

    with OllamaServer(script, context=12_000) as server:
        events = asyncio.run(talk(server))
        longest = max(len(request.content) for request in server.requests if request.path.endswith("completions"))
    reasons = {each.reason for each in events if isinstance(each, CompactedEvent)}
    assert reasons == {"context_window"}
    assert longest < 12_000 * 4


def test_a_prompt_that_no_summary_makes_short_enough_is_an_error(tmp_path):
    async def talk(server):
        async with OneClaw.open(tmp_path, environ={"ONECLAW_DISABLED_PLUGINS": NO_OTHERS}) as claw:
            await claw.configuration.providers.add("box", "ollama", server.url)
            return [each async for each in claw.send_message("word " * 9_000, session="s", model="box/qwen3")]

    with OllamaServer(lambda body: text("cut")) as server:
        with pytest.raises(ContextTooLongError, match="OLLAMA_CONTEXT_LENGTH"):
            asyncio.run(talk(server))
        assert not [each for each in server.requests if each.path.endswith("completions")]
