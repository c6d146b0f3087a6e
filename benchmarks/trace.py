"""Count the files and functions of ``oneclaw_core`` that one message with one tool call enters.

Run it with ``python -m benchmarks.trace``; ``--list`` also prints their names. Only the second message of a home is
counted, so that caches are filled as in a program that runs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oneclaw_core
from oneclaw_core import MessageType, OneClaw, TokenUsage, ToolCall, hookimpl, tool
from oneclaw_core.providers import ModelInfo, ModelResponse, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import FrameType

    from oneclaw_core import ProviderRegistrar, ToolRegistrar
    from oneclaw_core.providers import ModelEvent, ModelRequest, ProviderConfig

PACKAGE = str(Path(oneclaw_core.__file__).parent)


class OneCall:
    """A model that calls one tool and then answers."""

    def __init__(self, config: ProviderConfig) -> None:
        self._config = config

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Call the tool, then answer."""
        usage = TokenUsage(input_tokens=10, output_tokens=5)
        if request.messages[-1].type is MessageType.USER:
            yield ModelResponse(tool_calls=(ToolCall("call", "say_hello", '{"name": "Ada"}'),), usage=usage)
            return
        yield TextDelta("Done.")
        yield ModelResponse(text="Done.", usage=usage)

    async def list_models(self) -> list[ModelInfo]:
        """Return one model."""
        return [ModelInfo(name="model")]

    async def aclose(self) -> None:
        """Close nothing."""


@tool
async def say_hello(name: str) -> str:
    """Say hello.

    Args:
        name: of a person.
    """
    return f"Hello, {name}!"


class OneCallPlugin:
    """Registers the model and the tool."""

    __name__ = "one_call"

    @hookimpl
    def register_providers(self, register: ProviderRegistrar) -> None:
        """Register the model."""
        register("one_call", OneCall)

    @hookimpl
    def register_tools(self, register: ToolRegistrar) -> None:
        """Register the tool."""
        register(say_hello)


async def traced_message(home: Path) -> Counter[tuple[str, str]]:
    """Send two messages and count the calls of functions during the second, by file and function."""
    entered: Counter[tuple[str, str]] = Counter()

    def enter(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            # A comprehension is a part of its function; Python 3.12 calls it no more.
            function = code.co_qualname.partition(".<locals>.<")[0]
            entered[code.co_filename.removeprefix(PACKAGE), function] += 1

    async with OneClaw.open(home, environ={}, plugins=["builtin", OneCallPlugin()]) as claw:
        await claw.configuration.providers.add("lab", "one_call")
        for trace in (None, enter):
            threading.setprofile(trace)
            sys.setprofile(trace)
            async with aclosing(claw.send_message("hi", session="trace", model="lab/model")) as events:
                async for _ in events:
                    pass
            sys.setprofile(None)
            threading.setprofile(None)
    return entered


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every function with its calls")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        entered = asyncio.run(traced_message(Path(folder)))
    if options.list:
        for (file, function), calls in sorted(entered.items()):
            print(f"{calls:5} {file.lstrip('/')} {function}")
    print(f"{len({file for file, _ in entered})} files, {len(entered)} functions, {entered.total()} calls")


if __name__ == "__main__":
    main()
