"""``pydantic-ai``."""

import asyncio

from checks import KEY, MODEL, PIXEL, URL, run
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key=KEY)))


def chat():
    first = agent.run_sync("Hi")
    return [first.output, agent.run_sync("And again", message_history=first.all_messages()).output]


async def pieces_of(text, until=None):
    found = []
    async with agent.run_stream(text) as result:
        async for each in result.stream_text(delta=True, debounce_by=None):
            found.append(each)
            if until is not None and len(found) >= until:
                break
    return found


def stream(text):
    return asyncio.run(pieces_of(text))


def image():
    return agent.run_sync(["Look", BinaryContent(PIXEL, media_type="image/png")]).output


def cancel():
    asyncio.run(pieces_of("endless", until=1))


def status(error):
    return getattr(error, "status_code", None)


run(
    chat,
    stream,
    image,
    cancel,
    lambda: agent.run_sync("fail"),
    lambda: agent.run_sync("Hi", model_settings={"extra_body": {"n": 2}}),
    status,
)
