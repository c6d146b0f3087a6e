"""Google's own types of what Gemini is sent and what it answers. Imported by the first test that asks for it."""

import json
from functools import cache


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


def checked_gemini_chunk(chunk):
    """A chunk of an answer that Google's types find nothing wrong with."""
    from google.genai import types

    made = types.GenerateContentResponse.model_validate(chunk)
    assert json.loads(made.model_dump_json(by_alias=True, exclude_none=True)) == chunk
    return chunk


def without_none(value):
    """What is written of a value."""
    if isinstance(value, dict):
        return {key: without_none(each) for key, each in value.items() if each is not None}
    return [without_none(each) for each in value] if isinstance(value, list) else value
