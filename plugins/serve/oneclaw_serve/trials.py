"""Tools that a person tries at the page: each call goes through permissions, questions and limits like any other."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError, ToolClient, UsageError
from oneclaw_serve.questions import Questions

if TYPE_CHECKING:
    from logging import Logger

    from oneclaw_core import OneClaw
    from oneclaw_core.sessions import PluginStorage
    from oneclaw_serve.event_log import EventLog

_KEPT_SECONDS = 3_600
_MOST_CALLS = 16
_KEY = "trial/"


class Trials:
    """The calls of tools that were begun at the page; their state is in the database for any process to show.

    Args:
        claw: the open home.
        storage: of the plugin.
        log: where questions are stored.
        logger: of the plugin.
    """

    def __init__(self, claw: OneClaw, storage: PluginStorage, log: EventLog, logger: Logger) -> None:
        self._claw = claw
        self._storage = storage
        self._log = log
        self._logger = logger
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, tool: str, arguments: dict[str, Any]) -> str:
        """Begin a call; return its id.

        Raises:
            UsageError: too many calls run.
        """
        if len(self._tasks) >= _MOST_CALLS:
            raise UsageError(f"{_MOST_CALLS} calls run already: wait for the end of one")
        call = secrets.token_hex(16)
        document = {"tool": tool, "arguments": arguments, "status": "running"}
        await self._keep(call, document)
        task = self._tasks[call] = asyncio.create_task(self._run(call, document), name=f"call of {tool}")
        task.add_done_callback(lambda _: self._tasks.pop(call, None))
        return call

    async def state(self, call: str) -> dict[str, Any] | None:
        """Return a call with its ``status``, its ``result`` and the ``questions`` that wait; ``None`` if it is gone."""
        document: dict[str, Any] | None = await self._storage.get(f"{_KEY}{call}")
        if document is None:
            return None
        questions = await self._log.questions(call) if document["status"] == "running" else []
        return {**document, "questions": questions}

    async def aclose(self) -> None:
        """Stop all calls."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, call: str, document: dict[str, Any]) -> None:
        ended: dict[str, Any] = {"status": "interrupted", "result": "", "duration_ms": None}
        questions = Questions(call, self._log, lambda kind, data: None)
        client = ToolClient(name="page", ask=questions.ask, ask_user=questions.ask_user)
        try:
            outcome = await self._claw.call_tool(document["tool"], document["arguments"], client=client)
            result = outcome.result
            shown = result.result if result.error_type is None else f"{result.error_type}: {result.error_message}"
            ended = {
                "status": "done" if result.error_type is None else "failed",
                "result": shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=2),
                "duration_ms": outcome.duration_ms,
            }
        except OneClawError as error:
            ended = {"status": "failed", "result": str(error), "duration_ms": None}
        except Exception:
            self._logger.exception("a call of %s failed", document["tool"])
            ended = {"status": "failed", "result": "an unexpected error; oneclaw log shows it", "duration_ms": None}
        finally:
            await asyncio.shield(self._finish(call, {**document, **ended}))

    async def _finish(self, call: str, document: dict[str, Any]) -> None:
        await self._keep(call, document)
        # Questions that were not answered are withdrawn.
        await self._log.end_turn(call)

    async def _keep(self, call: str, document: dict[str, Any]) -> None:
        await self._storage.set(f"{_KEY}{call}", document, ttl_seconds=_KEPT_SECONDS)
