"""OpenAI's own types of what it is sent and what it streams. Imported by the first test that asks for it."""

from functools import cache

from history_entries import forced


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


def checked_responses_request(body):
    """A request that OpenAI's types find nothing wrong with; a key that they do not know would be missing."""
    assert forced(responses_request().validate_python(body)) == body
    return body
