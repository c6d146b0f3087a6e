"""A script: a program of a model that makes calls, and can be run again with the same outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError
from oneclaw_core.scripts.inner_calls import Adapt, InnerCalls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.types.tools import ToolResult


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
    _calls: InnerCalls | None = None

    @property
    def ended(self) -> ToolResult | None:
        """The reason why the script must end at once, ``None`` as long as it may go on."""
        return self._calls.rules.ended if self._calls is not None else None

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Return why the script cannot call tools, by their names; tools that it can call are left out.

        Args:
            names: of tools.
        """
        return self._calls.problems(names) if self._calls is not None else {}

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


async def begin_script(
    context: ToolContext,
    code: str,
    purpose: str = "",
    *,
    engine: str = "",
    continues: str | None = None,
    adapt: Adapt | None = None,
) -> Script:
    """Begin a script: a program that calls tools by ``context.call_tool``, the same way whenever it is run.

    Args:
        context: of the running tool.
        code: the program.
        purpose: what it is for, in a few words, which people are shown.
        engine: what else its outcome depends on, such as the version of what runs it.
        continues: the id of the call that began a script earlier in the session, whose code is run again; ``code``
            is not used then.
        adapt: returns the result of a call as the script gets it, before it is stored: called with the name of the
            tool, the id of the call, which is the same in each run of the script, and the result.

    Raises:
        UsageError: there is no such script, or it cannot be continued.
        OneClawError: the call has ended, or the tool runs in a worker process or was executed by hand.
    """
    calls = context.inner_calls
    if not isinstance(calls, InnerCalls):
        raise OneClawError("no script can be begun here")
    begun = await calls.begin(code, purpose, engine, continues, adapt)
    return Script(begun.code, begun.purpose, begun.started_ms, begun.seed, calls.tool_names(), calls)
