"""Ask one question from synchronous code."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar, overload

from oneclaw_core.app import OneClaw
from oneclaw_core.errors import UsageError

_Value = TypeVar("_Value")
_OF_MESSAGE = ("session", "agent", "model", "system_prompt", "attachments", "output_retries")


@overload
def ask(text: str, *, output: type[_Value], **options: Any) -> _Value: ...
@overload
def ask(text: str, *, output: None = None, **options: Any) -> str: ...
@overload
def ask(text: str, *, output: object, **options: Any) -> Any: ...


def ask(text: str, *, output: Any = None, **options: Any) -> Any:
    """Send one message and return the final answer: the synchronous one-liner.

    Args:
        text: the message.
        output: what the answer is to be, in place of a text, as for :meth:`OneClaw.send_message`.
        options: ``session``, ``agent``, ``model``, ``system_prompt``, ``attachments`` and ``output_retries`` as for
            :meth:`OneClaw.send_message`, everything else as for :meth:`OneClaw.open`.

    Returns:
        The text; with ``output``, the value.

    Raises:
        OneClawError: as for those two; ``UsageError`` inside a running event loop.
        OutputError: the model gives no valid output, or declines to.
    """
    of_message = {name: options.pop(name) for name in _OF_MESSAGE if name in options}

    async def answer() -> Any:
        async with OneClaw.open(**options) as claw:
            return await claw.ask(text, output=output, **of_message)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer())
    raise UsageError("ask() cannot be used inside an event loop: use 'async with OneClaw.open() as claw' there")
