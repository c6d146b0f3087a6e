"""A script: a program of a model that makes calls, and can be run again with the same outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from oneclaw_core.types.tools import ToolResult

Adapt = Callable[[str, str, ToolResult], ToolResult]
"""Returns the result of a call as the script gets it, before it is stored: see ``ToolContext.begin_script``."""


class CallsOfScript(Protocol):
    """The calls of a script; see :class:`oneclaw_core.tools.calls.inner.InnerCalls`."""

    @property
    def ended(self) -> ToolResult | None:
        """The reason why the script must end at once, ``None`` as long as it may go on."""
        ...

    async def end_script(self, *, is_final: bool) -> None:
        """Write what is still to be written of a script."""
        ...

    def summary(self) -> str:
        """Say which calls were made, and how they ended."""
        ...


@dataclass(frozen=True, slots=True)
class Script:
    """A script that a running tool has begun; its calls are those of ``ToolContext.call_tool``.

    Attributes:
        code: the code to run: that of an earlier script, if this one continues it.
        purpose: what it is for, in the words of a model; ``""`` for nothing said.
        started_ms: the time that the script sees, in milliseconds since 1970: when it was first begun.
        seed: of its random numbers, four numbers of 32 bits.
        tool_names: the tools that it can call now.
    """

    code: str
    purpose: str
    started_ms: int
    seed: tuple[int, ...]
    tool_names: tuple[str, ...]
    _calls: CallsOfScript | None = None

    @property
    def ended(self) -> ToolResult | None:
        """The reason why the script must end at once, ``None`` as long as it may go on."""
        return self._calls.ended if self._calls is not None else None

    async def end(self, *, is_final: bool = True) -> None:
        """Note that the script has finished, or that it stopped before.

        Args:
            is_final: False for a script that can go on later: its calls are kept for that.

        Raises:
            StoreError: that could not be stored.
        """
        if self._calls is not None:
            await self._calls.end_script(is_final=is_final)

    def summary(self) -> str:
        """Say which calls were made, how they ended and how the script can go on, if it did not finish."""
        return self._calls.summary() if self._calls is not None else ""
