import asyncio
import json

import pytest
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.model_list import served_context
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.providers import ProviderConfig


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"data": [{"id": "m", "max_model_len": 8192}]}, 8192),  # vLLM
        ({"data": [{"id": "other", "max_model_len": 1}, {"id": "m", "context_length": 4096}]}, 4096),
        ({"data": [{"id": "m.gguf", "meta": {"n_ctx_train": 32768, "n_ctx": 4096}}]}, 4096),  # llama.cpp
        ({"data": [{"id": "m.gguf", "meta": {"n_ctx_train": 32768}}]}, 32768),
        ({"default_generation_settings": {"n_ctx": 4096}}, 4096),
        ({"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 8192}]}, 8192),  # LM Studio
        ({"data": [{"id": "a"}, {"id": "b", "max_model_len": 8192}]}, None),
        ([], None),
        ("no", None),
    ],
)
def test_a_servers_page_says_what_it_reads(body, tokens):
    assert served_context(body, "m") == tokens


def test_a_server_is_asked_on_its_pages_one_after_the_other():
    pages = {"/props": {"default_generation_settings": {"n_ctx": 4096}}, "/v1/models": {"data": [{"id": "m"}]}}

    def answer(request):
        return response(json.dumps(pages.get(request.target)))

    async def find(url):
        provider = OpenAIChatProvider(ProviderConfig("lab", "openai_compatible", base_url=url))
        try:
            return await provider.find_context_limit("m")
        finally:
            await provider.aclose()

    with WebServer(answer) as server:
        assert asyncio.run(find(f"{server.url.rstrip('/')}/v1")) == 4096
