"""Searching with a model of a service; the vendors' own types judge requests and answers."""

from __future__ import annotations

import pytest
from how_long import some
from pytest_oneclaw import assert_tool_error, assert_tool_succeeded

OTTERS, RIVERS = "https://example.org/otters", "https://example.org/rivers"
LINE = "- Otters swim ([example.org]("
OPENAI = {
    **{"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "error": None},
    **{"incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True},
    **{"temperature": 1, "top_p": 1, "tool_choice": "required", "tools": []},
    "output": [
        {
            **{"type": "web_search_call", "id": "s", "status": "completed"},
            "action": {
                "type": "search",
                "query": "otters",
                "sources": [{"type": "url", "url": OTTERS}, {"type": "url", "url": RIVERS}],
            },
        },
        {
            **{"type": "message", "id": "m", "role": "assistant", "status": "completed"},
            "content": [
                {
                    **{"type": "output_text", "text": f"Found:\n{LINE}{OTTERS}))"},
                    "annotations": [
                        {
                            **{"type": "url_citation", "title": "Otters", "url": OTTERS},
                            **{"start_index": len("Found:\n- Otters swim "), "end_index": 60},
                        }
                    ],
                }
            ],
        },
    ],
}
ANTHROPIC = {
    **{
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "stop_sequence": None,
    },
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "otters"}},
        {
            **{"type": "web_search_tool_result", "tool_use_id": "s"},
            "content": [
                {"type": "web_search_result", "title": "Otters", "url": OTTERS, "encrypted_content": "x"},
                {"type": "web_search_result", "title": "Rivers", "url": RIVERS, "encrypted_content": "x"},
            ],
        },
        {
            **{"type": "text", "text": "They swim."},
            "citations": [
                {
                    **{"type": "web_search_result_location", "url": OTTERS, "title": "Otters"},
                    **{"cited_text": "Otters swim", "encrypted_index": "x"},
                }
            ],
        },
    ],
}
GEMINI = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "Otters swim"}]},
            "groundingMetadata": {
                "groundingChunks": [
                    {"web": {"uri": OTTERS, "title": "Otters"}},
                    {"web": {"uri": RIVERS, "title": "Rivers"}},
                ],
                "groundingSupports": [
                    {"segment": {"endIndex": 11, "text": "Otters swim"}, "groundingChunkIndices": [0]}
                ],
            },
        }
    ]
}
SERVICES = {
    "openai": ("/v1/responses", OPENAI, ("Authorization", "Bearer the-key-of-a-test")),
    "anthropic": ("/v1/messages", ANTHROPIC, ("x-api-key", "the-key-of-a-test")),
    "gemini": ("/v1beta/models/a-model:generateContent", GEMINI, ("x-goog-api-key", "the-key-of-a-test")),
}


@pytest.mark.parametrize("backend", SERVICES)
def test_pages_that_a_model_found_are_listed(search_with, web_server, backend):
    path, answer, (header, key) = SERVICES[backend]
    web_server.answers(path, answer)

    text = assert_tool_succeeded(search_with(backend, model="a-model", region="de-de")(query="otters", period="week"))

    assert f"Otters\n{OTTERS}\nOtters swim\n\n" in text
    assert RIVERS in text
    (request,) = web_server.requests
    assert request.header(header) == key
    assert "pages of the last week" in request.text


@pytest.mark.parametrize("backend", SERVICES)
def test_a_missing_model_or_key_says_how_to_set_it(search_with, backend):
    without_model = assert_tool_error(search_with(backend)(query="otters"), "execution_error")
    assert "oneclaw config set search.model MODEL" in without_model
    without_key = assert_tool_error(search_with(backend, model="m", api_key="")(query="otters"), "execution_error")
    assert "oneclaw keys set search.api_key" in without_key


@pytest.mark.parametrize("backend", some(SERVICES, 2))
@pytest.mark.parametrize(
    "answer",
    [
        {"output": [1, {"content": 2, "action": []}], "content": 3, "candidates": {}},
        {"candidates": [{"groundingMetadata": {"groundingSupports": [{"groundingChunkIndices": 1}]}}]},
        {"candidates": [{"groundingMetadata": {"groundingSupports": [{"groundingChunkIndices": [[]]}]}}]},
        {"content": [{"type": "text", "citations": [{"url": ["x"]}]}]},
    ],
)
def test_answers_that_make_no_sense_hold_no_pages(search_with, web_server, backend, answer):
    web_server.answers(SERVICES[backend][0].replace("a-model", "m"), answer)

    assert assert_tool_succeeded(search_with(backend, model="m")(query="otters")) == "Nothing was found."


def test_failures_of_the_search_and_of_the_model_are_told(search_with, web_server):
    search = search_with("anthropic", model="m")
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    web_server.answers("/v1/messages", {"content": [{"type": "web_search_tool_result", "content": error}]})
    assert "failed: max_uses_exceeded" in assert_tool_error(search(query="otters"), "execution_error")
    web_server.answers("/v1/messages", {"error": "no such tool"}, status=400)
    assert "has to be one that can search" in assert_tool_error(search(query="otters"), "execution_error")


@pytest.mark.long  # five seconds, to import the libraries of the vendors
@pytest.mark.one_python
@pytest.mark.parametrize("backend", SERVICES)
def test_requests_and_answers_fit_the_types_of_the_vendor(search_with, web_server, backend):
    path, answer, _ = SERVICES[backend]
    web_server.answers(path, answer)
    search_with(backend, model="a-model", region="de-de")(query="otters")
    sent = web_server.requests[0].json()

    if backend == "openai":
        from openai.types.responses import Response, WebSearchTool

        assert Response.model_validate(answer, strict=False).output[0].type == "web_search_call"
        assert WebSearchTool.model_validate(sent["tools"][0]).user_location.country == "DE"
    elif backend == "anthropic":
        from anthropic.types import Message
        from anthropic_types import messages_request

        assert Message.model_validate(answer).content[1].content[0].type == "web_search_result"
        messages_request().validate_python(sent | {"stream": True})
    else:
        from google.genai import types

        found = types.GenerateContentResponse.model_validate(answer)
        assert found.candidates[0].grounding_metadata.grounding_chunks[0].web.title == "Otters"
        assert types.Tool.model_validate(sent["tools"][0]).google_search is not None
