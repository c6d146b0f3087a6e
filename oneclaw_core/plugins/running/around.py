"""Context managers of plugins around a turn, a model request or a tool call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.plugins.contract.arguments import set_result
from oneclaw_core.plugins.running.hook_calls import HookError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from oneclaw_core.plugins.contract.arguments import ModelAnswer, TurnOutcome, Work
    from oneclaw_core.plugins.running.running_plugin import RunningPlugin
    from oneclaw_core.types.tools import ToolResult

_log = logging.getLogger("oneclaw.plugins")


class Around:
    """An async context manager that enters what the ``around`` hooks return, in the task that enters it.

    A fault of a plugin is logged. It neither keeps the work from running nor hides how the work ended.

    Args:
        plugins: that implement the hook, in order.
        work: what they are entered for; its result is to be set before the end.
    """

    def __init__(self, plugins: Sequence[RunningPlugin], work: Work) -> None:
        self._plugins = plugins
        self._work = work
        self._entered: list[tuple[str, AbstractContextManager[Any]]] = []

    async def __aenter__(self) -> Self:
        try:
            await self._enter()
        except BaseException as error:  # cancelled while a plugin starts
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def _enter(self) -> None:
        for plugin in self._plugins:
            try:
                context, implementation = await plugin.ready("around")
            except PluginError as error:
                _log.warning("%s", error)
                continue
            given = {"context": context, "work": self._work}
            try:
                manager = implementation.function(**{name: given[name] for name in implementation.argument_names})
                if manager is not None:
                    manager.__enter__()
                    self._entered.append((plugin.name, manager))
            except BaseException as error:  # noqa: BLE001  # foreign code
                _complain(plugin.name, error)

    def set_result(self, result: TurnOutcome | ModelAnswer | ToolResult) -> None:
        """Show the context managers how the work ended, before they are left."""
        set_result(self._work, result)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._entered:
            plugin, manager = self._entered.pop()
            try:
                # A true value would swallow the exception of the work, and does not.
                manager.__exit__(kind, error, traceback)
            except BaseException as raised:  # noqa: BLE001  # foreign code
                if raised is not error:
                    _complain(plugin, raised)


def _complain(plugin: str, error: BaseException) -> None:
    _log.warning("%s", HookError(plugin, "around", f"raised {describe_error(error)}"))
