"""OpenAI's own types of what it is sent and what it streams. Imported by the first test that asks for it.

The vendor's library takes a second to import. What it finds does not depend on the version of Python, so the tests
on all but one of them, which run with ``--hypothesis-profile few``, do without.
"""

from functools import cache

from history_entries import forced
from how_long import is_few


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
    if not is_few():
        assert forced(responses_request().validate_python(body)) == body
    return body
