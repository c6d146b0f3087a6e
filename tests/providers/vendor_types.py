"""The vendors' own types of what is sent to them and what they answer, imported by the first test that asks for one.

Their libraries take a second each to import. What they find does not depend on the version of Python, so the tests on
all but one of them, which run with ``--hypothesis-profile few``, do without.
"""

import json
from functools import cache

from history_entries import forced
from how_long import is_few


@cache
def messages_request():
    """What Anthropic takes."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    return TypeAdapter(MessageCreateParamsStreaming)


@cache
def messages_beta_request():
    """What Anthropic takes with definitions of tools among the messages."""
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    return TypeAdapter(MessageCreateParamsStreaming)


@cache
def messages_event():
    """What Anthropic streams."""
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    return TypeAdapter(RawMessageStreamEvent)


@cache
def chat_request():
    """What OpenAI takes by Chat Completions."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from pydantic import TypeAdapter

    return TypeAdapter(CompletionCreateParamsStreaming)


@cache
def responses_request():
    """What OpenAI takes by Responses."""
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
    from pydantic import TypeAdapter

    return TypeAdapter(ResponseCreateParamsStreaming)


@cache
def responses_event():
    """What OpenAI streams by Responses."""
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    return TypeAdapter(ResponseStreamEvent)


@cache
def gemini_request():
    """What Gemini takes; no field that is not known to it."""
    from google.genai import types
    from pydantic import BaseModel, ConfigDict

    class Body(BaseModel):
        model_config = ConfigDict(extra="forbid")

        systemInstruction: types.Content | None = None  # noqa: N815  # the wire's name
        tools: list[types.Tool] = []
        toolConfig: types.ToolConfig | None = None  # noqa: N815  # the wire's name
        generationConfig: types.GenerationConfig | None = None  # noqa: N815  # the wire's name
        safetySettings: list[types.SafetySetting] = []  # noqa: N815  # the wire's name
        contents: list[types.Content]

    return Body


def checked_responses_request(body):
    """A request that OpenAI's types find nothing wrong with; a key that they do not know would be missing."""
    if not is_few():
        assert forced(responses_request().validate_python(body)) == body
    return body


def checked_gemini_chunk(chunk):
    """A chunk of an answer that Google's types find nothing wrong with."""
    if not is_few():
        from google.genai import types

        made = types.GenerateContentResponse.model_validate(chunk)
        assert json.loads(made.model_dump_json(by_alias=True, exclude_none=True)) == chunk
    return chunk


def without_none(value):
    """What is written of a value."""
    if isinstance(value, dict):
        return {key: without_none(each) for key, each in value.items() if each is not None}
    return [without_none(each) for each in value] if isinstance(value, list) else value
