"""Anthropic's own types of what it is sent and what it streams. Imported by the first test that asks for it."""

from functools import cache


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
