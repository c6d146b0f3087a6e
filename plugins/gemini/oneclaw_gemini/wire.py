"""A request as Gemini wants it, that is the body of ``POST models/{model}:streamGenerateContent``. No I/O.

Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import ToolLists

from oneclaw_core.providers import ProviderRequestError, compact_json
from oneclaw_gemini.contents import contents, is_before_gemini_3
from oneclaw_gemini.schema import gemini_schema

if TYPE_CHECKING:
    from oneclaw_core import ToolDefinition
    from oneclaw_core.providers import ModelRequest

MAX_DECLARATIONS = 512
# Parameters under the names other services know them by.
_SYNONYMS = {"maxTokens": "maxOutputTokens", "maxCompletionTokens": "maxOutputTokens", "stop": "stopSequences"}
# Parameters that stand beside the generation's own.
_OUTSIDE_GENERATION = frozenset({"safetySettings", "serviceTier", "store"})
# The same as behind the vendor's own ``reasoning_effort``. The later models cannot be kept from thinking altogether.
_BUDGETS = {"off": 0, "low": 1_024, "medium": 8_192, "high": 24_576}
_LEVELS = {"off": "minimal", "low": "low", "medium": "medium", "high": "high"}
_LEVEL_MEMBERS = frozenset({"thinkingBudget", "thinkingLevel"})
# What the conversation says, no parameter does; a service-side cache would take the place of tools and instructions.
_NO_PARAMETERS = frozenset(
    {"model", "contents", "systemInstruction", "tools", "toolConfig", "cachedContent", "stream", "candidateCount"}
)


class GeminiEncoder:
    """Writes requests as bytes, the same bytes for the same request.

    What changes from one request of a session to the next comes last, and loaded tools at the end of the tools, so
    that as much as possible of the service's prompt cache holds.

    Args:
        server: the origin of the server asked, as :class:`~oneclaw_gemini.answer.GeminiAnswer` notes it beside what
            it is to be sent back.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._declarations = ToolLists(declaration)

    def encode(self, request: ModelRequest) -> bytes:
        """Write a request; lone surrogates, which UTF-8 cannot hold, become question marks.

        Args:
            request: what the model is sent.

        Raises:
            ProviderRequestError: more tools are active than Gemini takes.
        """
        tools = tuple(request.tools)
        if len(tools) > MAX_DECLARATIONS:
            raise ProviderRequestError(
                f"Gemini takes at most {MAX_DECLARATIONS} tools, and {len(tools)} are active: start a new session and "
                "load fewer tool groups, or disable tools"
            )
        members = [compact_json(_head(request))[1:-1]]
        if tools:
            members.append(f'"tools":[{{"functionDeclarations":{self._declarations.text(tools)}}}]')
        members.append(compact_json(_tail(request, has_tools=bool(tools), server=self._server))[1:-1])
        return f"{{{','.join(filter(None, members))}}}".encode("utf-8", "replace")


def declaration(definition: ToolDefinition) -> dict[str, Any]:
    """Declare a tool."""
    declared = {"name": definition.name, "description": definition.description}
    schema = gemini_schema(definition.parameters)
    return declared if schema is None else declared | {"parametersJsonSchema": schema}


def _head(request: ModelRequest) -> dict[str, Any]:
    prompt = request.system_prompt
    return {"systemInstruction": {"parts": [{"text": prompt}]}} if prompt else {}


def _tail(request: ModelRequest, *, has_tools: bool, server: str) -> dict[str, Any]:
    tail: dict[str, Any] = {}
    if has_tools:
        tail["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
    generation: dict[str, Any] = {}
    for key, value in request.parameters.items():
        name = _camel_case(key)
        name = _SYNONYMS.get(name, name)
        if value is None or name in _NO_PARAMETERS:
            continue
        if name == "stopSequences" and isinstance(value, str):
            value = [value]
        (tail if name in _OUTSIDE_GENERATION else generation)[name] = value
    if request.reasoning is not None:
        generation["thinkingConfig"] = _thinking(request.model, request.reasoning, generation.get("thinkingConfig"))
    if request.output is not None:
        schema = gemini_schema(request.output.schema) or {"type": "object"}
        generation |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    if request.max_output_tokens is not None:
        generation["maxOutputTokens"] = request.max_output_tokens
    if generation:
        tail["generationConfig"] = generation
    return tail | {"contents": contents(request.messages, request.model, server)}


def _thinking(model: str, level: str, given: object) -> dict[str, Any]:
    """Write a level of reasoning: in tokens for models before Gemini 3, which refuse the words of the later ones."""
    members = given if isinstance(given, dict) else {}
    kept = {name: value for name, value in members.items() if _camel_case(name) not in _LEVEL_MEMBERS}
    if is_before_gemini_3(model):
        return {**kept, "thinkingBudget": _BUDGETS[level]}
    return {**kept, "thinkingLevel": _LEVELS[level]}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in others)
