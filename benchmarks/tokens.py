"""The token cost of tools: one session of ten turns, for each service and each way of its wire format.

Run it with: uv run python -m benchmarks.tokens

It prints the tables of docs/tokens.md. Nothing goes over a network: the requests are the real ones, byte for byte,
and what a service reads from its prompt cache is computed from what each has in common with the one before. A token
is counted as four characters of JSON. Rates are those of genai-prices.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from genai_prices import Usage, calc_price
from oneclaw_anthropic import wire as anthropic_wire
from oneclaw_gemini import wire as gemini_wire
from oneclaw_openai import chat_wire as openai_chat_wire
from oneclaw_openai import responses_wire as openai_responses_wire

from benchmarks import work
from benchmarks.ten_turns import (
    ALWAYS_ALL,
    APPENDED,
    DISPATCHED,
    FORESEEN,
    GROUPS_USED,
    INLINE,
    NATIVE,
    NONE,
    TURNS,
    Session,
    Turn,
    turns_with,
)
from oneclaw_core.plugins.loading import discover, load_plugins
from oneclaw_core.providers import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from oneclaw_core import ToolDefinition, ToolRegistry

CHARACTERS_PER_TOKEN = 4
_ESCAPE = re.compile(r"\\(.)")


# What the model reads of a request, in the order in which the service puts it together


def _texts(values: Iterable[object]) -> Iterator[str]:
    """The JSON of each value, with its texts as the model reads them: not escaped."""
    for value in values:
        yield _ESCAPE.sub(r"\1", json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def chat_prompt(body: Any) -> list[str]:
    """Tools, then messages."""
    return [*_texts(body.get("tools", [])), *_texts(body["messages"])]


def responses_prompt(body: Any) -> list[str]:
    """Tools, instructions, input items."""
    return [*_texts(body.get("tools", [])), body["instructions"], *_texts(body["input"])]


def gemini_prompt(body: Any) -> list[str]:
    """System instruction, tools, contents."""
    declarations = [each for tools in body.get("tools", []) for each in tools["functionDeclarations"]]
    return [*_texts([body["systemInstruction"]]), *_texts(declarations), *_texts(body["contents"])]


def anthropic_prompt(body: Any) -> list[str]:
    """Tools that are not deferred, system prompt, messages; a tool stands where it is referred to or defined."""
    body = {"tools": []} | _without_marks(body)
    deferred = {tool["name"]: tool for tool in body["tools"] if tool.pop("defer_loading", False)}

    def expanded(value: Any) -> Any:
        if isinstance(value, dict):
            if value.get("type") == "tool_reference":
                return deferred[value["tool_name"]]
            if value.get("type") == "tool_addition":
                return value["tool"]["definition"]
            return {key: expanded(each) for key, each in value.items()}
        return [expanded(each) for each in value] if isinstance(value, list) else value

    eager = [tool for tool in body["tools"] if tool["name"] not in deferred]
    return [*_texts(eager), *_texts(body["system"]), *_texts(map(expanded, body["messages"]))]


def _without_marks(value: Any) -> Any:
    """Cache marks move from request to request and are no part of what the model reads."""
    if isinstance(value, dict):
        return {key: _without_marks(each) for key, each in value.items() if key != "cache_control"}
    return [_without_marks(each) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Service:
    """A wire format, and a model whose rates apply.

    Attributes:
        name: for people.
        provider: the vendor, as genai-prices calls it.
        model: whose rates.
        least_cached: shorter prefixes are not cached, in tokens.
        encode: writes a request.
        prompt: finds what the model reads, in order.
        strategies: what the format can do.
    """

    name: str
    provider: str
    model: str
    least_cached: int
    encode: Callable[[ModelRequest], bytes]
    prompt: Callable[[Any], list[str]]
    strategies: Sequence[str]

    def price(self, total: int, cached: int, written: int) -> float:
        """Return the cost of input tokens in USD."""
        usage = Usage(input_tokens=total, cache_read_tokens=cached, cache_write_tokens=written)
        return float(calc_price(usage, self.model, provider_id=self.provider).input_price)

    @property
    def rates(self) -> tuple[float, float]:
        """The cost of a token read from the cache and of one written to it, as multiples of an uncached one."""
        plain = self.price(10_000, 0, 0)
        # Where writing has no rate, genai-prices leaves it out.
        return self.price(10_000, 10_000, 0) / plain, max(1, self.price(10_000, 0, 10_000) / plain)


SERVICES = (
    Service(
        "OpenAI Responses",
        "openai",
        "gpt-6.1-sol",
        1024,
        openai_responses_wire.ResponsesEncoder("https://api.openai.com").encode,
        responses_prompt,
        (ALWAYS_ALL, APPENDED, NATIVE),
    ),
    Service(
        "Anthropic Messages",
        "anthropic",
        "claude-sonnet-5-5",
        1024,
        anthropic_wire.RequestEncoder("https://api.anthropic.com").encode,
        anthropic_prompt,
        (ALWAYS_ALL, APPENDED, NATIVE, INLINE),
    ),
    Service(
        "Gemini",
        "google",
        "gemini-3.8-flash",
        4096,
        gemini_wire.GeminiEncoder("https://generativelanguage.googleapis.com").encode,
        gemini_prompt,
        (ALWAYS_ALL, APPENDED, DISPATCHED),
    ),
    Service(
        "Chat Completions",
        "mistral",
        "mistral-medium-latest",
        1024,
        openai_chat_wire.RequestEncoder("https://api.mistral.ai").encode,
        chat_prompt,
        (ALWAYS_ALL, APPENDED, DISPATCHED),
    ),
)


# Counting


@dataclass(frozen=True)
class Cost:
    """The usage of a session.

    Attributes:
        requests: how many.
        sent: input tokens.
        billed: input tokens at the plain rate that would cost as much.
    """

    requests: int
    sent: int
    billed: float


def cost(
    service: Service, turns: Sequence[Sequence[ModelRequest]], *, least_cached: int, forgets_between_turns: bool = False
) -> Cost:
    """Count a session.

    Args:
        service: who bills it.
        turns: the requests of each turn.
        least_cached: shorter prefixes are not cached, in tokens.
        forgets_between_turns: whether the user is away for so long before each turn that nothing is cached any more.
    """
    sent = 0
    price = 0.0
    before: list[str] = []
    for requests in turns:
        if forgets_between_turns:
            before = []
        for request in requests:
            prompt = service.prompt(json.loads(service.encode(request)))
            total, cached = _tokens(prompt), _tokens(_common_beginning(before, prompt))
            if cached < least_cached:
                cached = 0
            sent += total
            price += service.price(total, cached, total - cached if service.rates[1] > 1 else 0)
            before = prompt
    return Cost(sum(map(len, turns)), sent, price / service.price(10_000, 0, 0) * 10_000)


def _tokens(texts: Iterable[str]) -> int:
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN


def _common_beginning(before: Sequence[str], now: Sequence[str]) -> list[str]:
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    return list(now[:same])


# The tables


async def session_table(registry: ToolRegistry) -> list[str]:
    """The session as it is, for every service and strategy."""
    lines = [
        "| service | tools | requests | sent | billed | less | less, uncached | billed after pauses | less |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for service in SERVICES:
        compared: tuple[Cost, Cost] | None = None
        for strategy in service.strategies:
            turns = await Session(registry, strategy).play()
            quick = cost(service, turns, least_cached=service.least_cached)
            slow = cost(service, turns, least_cached=service.least_cached, forgets_between_turns=True)
            compared = compared or (quick, slow)
            cells = [
                service.name if strategy == ALWAYS_ALL else "",
                strategy,
                str(quick.requests),
                f"{quick.sent:,}",
                f"{quick.billed:,.0f}",
                _less(quick.billed, compared[0].billed),
                _less(quick.billed, compared[0].sent),
                f"{slow.billed:,.0f}",
                _less(slow.billed, compared[1].billed),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


async def groups_table(registry: ToolRegistry) -> list[str]:
    """Return the savings when the same work uses the tools of fewer groups."""
    lines = [
        "| service | tools | one group | two groups | three groups |",
        "|---|---|--:|--:|--:|",
    ]
    for service in SERVICES:
        # Alone, the conversation would be too short for some caches; with tools before it, it is not.
        alone = cost(service, await Session(registry, NONE).play(), least_cached=0)
        for strategy in service.strategies[1:]:
            cells = []
            for count in (1, 2, 3):
                turns = turns_with(GROUPS_USED[:count], registry)
                billed = [
                    cost(service, await Session(registry, each, turns).play(), least_cached=service.least_cached).billed
                    for each in (strategy, ALWAYS_ALL)
                ]
                total, for_tools = _less(*billed), _less(*(each - alone.billed for each in billed))
                cells.append(f"{total} ({for_tools})")
            lines.append(f"| {service.name} | {strategy} | {' | '.join(cells)} |")
    return lines


@dataclass(frozen=True)
class Least:
    """The least that is billed for three groups, if all that is needed is known, and all of it cached.

    Attributes:
        conversation: without tools.
        core: with the core tools.
        foreseen: with the groups, too, from the start.
        needed: with each group from the turn that needs it.
        compared: with all tools.
    """

    conversation: float
    core: float
    foreseen: float
    needed: float
    compared: float


async def least(service: Service, registry: ToolRegistry) -> Least:
    """Find the least that is billed."""

    async def billed(strategy: str, turns: Sequence[Turn] = TURNS) -> float:
        played = await Session(registry, strategy, turns).play()
        return cost(service, played, least_cached=0).billed

    core = await billed(FORESEEN, [replace(each, loads=None) for each in TURNS])
    read, write = service.rates
    needed, requests_left = core, sum(1 + len(each.calls) for each in TURNS)
    for turn in TURNS:
        if turn.loads:
            definitions = _tokens_of_tools(service, registry.get_group_tool_definitions(turn.loads))
            needed += definitions * (write + read * (requests_left - 1))
        requests_left -= 1 + len(turn.calls)
    return Least(await billed(NONE), core, await billed(FORESEEN), needed, await billed(ALWAYS_ALL))


def _tokens_of_tools(service: Service, tools: Sequence[ToolDefinition]) -> int:
    """Count tools as the wire format writes them."""

    def tokens(active: Sequence[ToolDefinition]) -> int:
        request = ModelRequest(
            model="m", system_prompt="Help.", messages=(), tools=ActiveTools(tuple(active)), session_id="s"
        )
        return _tokens(service.prompt(json.loads(service.encode(request))))

    return tokens(tools) - tokens(())


async def bounds_table(registry: ToolRegistry) -> list[str]:
    """The least that is billed for three groups."""
    lines = [
        "| service | conversation | with core tools | and groups, from the start | and groups, each when needed |",
        "|---|--:|--:|--:|--:|",
    ]
    for service in SERVICES:
        found = await least(service, registry)
        figures = (found.conversation, found.core, found.foreseen, found.needed)
        cells = [f"{each:,.0f} ({_less(each, found.compared)})" for each in figures]
        lines.append(f"| {service.name} | {' | '.join(cells)} |")
    return lines


async def parts_table(registry: ToolRegistry) -> list[str]:
    """Return what is billed with groups loaded natively, by what it is for."""
    lines = [
        "| service | conversation | core tools | tools of groups | list of groups | three requests | loads | all |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for service in SERVICES:
        if NATIVE not in service.strategies:
            continue
        found = await least(service, registry)
        sessions = (
            Session(registry, NATIVE),
            Session(registry, NATIVE, has_list=False),
            Session(registry, NATIVE, has_list=False, asks_after_loads=False),
        )
        whole, unlisted, unasked = [
            cost(service, await each.play(), least_cached=service.least_cached).billed for each in sessions
        ]
        figures = [
            found.conversation,
            found.core - found.conversation,
            found.needed - found.core,
            whole - unlisted,
            unlisted - unasked,
            unasked - found.needed,
            whole,
        ]
        lines.append(f"| {service.name} | {' | '.join(f'{each:,.0f}' for each in figures)} |")
    return lines


def _less(billed: float, compared: float) -> str:
    return "" if billed == compared else f"{1 - billed / compared:.0%}"


async def billed_by_service() -> dict[str, float]:
    """Return the tokens billed for the session, by the titles of the rows in ``work.py``."""
    registry = load_plugins(entry_points=discover()).registry
    billed: dict[str, float] = {}
    for service in SERVICES:
        default = NATIVE if NATIVE in service.strategies else APPENDED
        titles = {ALWAYS_ALL: work.CACHED, default: work.LOADED, DISPATCHED: work.DISPATCHED}
        for strategy in service.strategies:
            if strategy in titles:
                found = cost(service, await Session(registry, strategy).play(), least_cached=service.least_cached)
                billed[f"{service.name}, {titles[strategy]}"] = found.billed
                if strategy == ALWAYS_ALL:
                    billed[f"{service.name}, {work.UNCACHED}"] = found.sent
        # Alone, it would be too short for some caches; with tools before it, it is not.
        alone = cost(service, await Session(registry, NONE).play(), least_cached=0)
        billed[f"{service.name}, {work.CONVERSATION}"] = alone.billed
    return billed


async def main() -> None:
    """Print the tables, and the rates that they are made with."""
    registry = load_plugins(entry_points=discover()).registry
    print(
        "\n".join(
            [
                *(*await session_table(registry), ""),
                *(*await groups_table(registry), ""),
                *(*await bounds_table(registry), ""),
                *(*await parts_table(registry), ""),
            ]
        )
    )
    for service in SERVICES:
        read, write = service.rates
        print(f"- {service.name}: {service.model}, {read:g} for a token read from the cache, {write:g} for one written")


if __name__ == "__main__":
    asyncio.run(main())
