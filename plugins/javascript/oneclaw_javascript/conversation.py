"""Talking with the worker process that runs one program."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError, PermissionDeniedError
from oneclaw_javascript.bridges import BridgeError, ScriptEndedError, ToolFailureError
from oneclaw_javascript.protocol import ProtocolError, Ready, Request, read_message, written, written_json
from oneclaw_javascript.result import ConsoleLine

if TYPE_CHECKING:
    from oneclaw_core.process import PythonProcess
    from oneclaw_javascript.bridges import JavaScriptBridges
    from oneclaw_javascript.protocol import Ending

MAX_CONSOLE_CHARACTERS = 20_000
# The engine's side keeps to 32 requests of 8 million characters in all, and one that it waits for.
_MAX_OPEN_REQUESTS = 33
_MAX_OPEN_SLEEPS = 1_000
_MAX_OPEN_BYTES = 32 * 1024 * 1024

_log = logging.getLogger("oneclaw.javascript")


class Conversation:
    """Gives a worker its program, answers what the program asks for, and hears how it ends.

    Args:
        process: the worker.
        bridges: what the program can reach.

    Attributes:
        denials: the permissions that the program was denied, by what it was told.
        failures: of tools, by what the program was told.
    """

    def __init__(self, process: PythonProcess, bridges: JavaScriptBridges) -> None:
        self._process = process
        self._bridges = bridges
        self._console: list[ConsoleLine] = []
        self._console_characters_left = MAX_CONSOLE_CHARACTERS
        self._open: dict[int, int] = {}
        self._sleeps = 0
        self._last_request_id = 0
        self._answering: set[asyncio.Task[None]] = set()
        self.denials: dict[str, PermissionDeniedError] = {}
        self.failures: dict[str, ToolFailureError] = {}

    @property
    def console(self) -> tuple[ConsoleLine, ...]:
        """The program's output so far."""
        if self._console_characters_left > 0:
            return tuple(self._console)
        notice = f"[cut here: only the first {MAX_CONSOLE_CHARACTERS:,} characters of the console are kept]"
        return (*self._console, ConsoleLine("log", notice))

    async def start(self, engine: bytes) -> None:
        """Give the worker its engine's side, and wait until it is there.

        Args:
            engine: the JavaScript that stands between worker and program.

        Raises:
            asyncio.IncompleteReadError: the worker has ended.
            ProtocolError: it talks nonsense.
        """
        await self._process.send(written(0, engine))
        if not isinstance(await read_message(self._process.stdout), Ready):
            raise ProtocolError("something else than that it is ready")

    async def run(self, job: dict[str, Any]) -> Ending:
        """Have the program run.

        Args:
            job: what the engine's side knows to read.

        Returns:
            How it ended.

        Raises:
            asyncio.IncompleteReadError: the worker has ended.
            ProtocolError: it talks nonsense.
            ScriptEndedError: a bridge ended the program.
        """
        await self._process.send(written_json(0, job))
        try:
            async with asyncio.TaskGroup() as answers:
                ending = await self._ending(answers)
                for task in self._answering:
                    task.cancel()
        except ExceptionGroup as errors:  # one of them ended the others
            raise errors.exceptions[0] from None
        return ending

    async def _ending(self, answers: asyncio.TaskGroup) -> Ending:
        while True:
            message = await read_message(self._process.stdout)
            if isinstance(message, ConsoleLine):
                self._keep(message)
            elif isinstance(message, Request):
                self._begin(message, answers)
            elif isinstance(message, Ready):
                raise ProtocolError("that it is ready, again")
            else:
                return message

    def _keep(self, line: ConsoleLine) -> None:
        if self._console_characters_left <= 0:
            raise ProtocolError("more on the console than was allowed")
        self._console_characters_left -= len(line.text) + 1
        self._console.append(line)
        self._bridges.on_console(line)

    def _begin(self, request: Request, answers: asyncio.TaskGroup) -> None:
        # The engine's side counts; whether the earlier one is answered by now makes no difference.
        if request.id <= self._last_request_id:
            raise ProtocolError("the same request twice")
        self._last_request_id = request.id
        if request.name == "_sleep":
            self._sleeps += 1
            if self._sleeps > _MAX_OPEN_SLEEPS:
                raise ProtocolError("more timers at once than are allowed")
        else:
            self._open[request.id] = request.size_bytes
        if len(self._open) > _MAX_OPEN_REQUESTS or sum(self._open.values()) > _MAX_OPEN_BYTES:
            raise ProtocolError("more requests at once than are allowed")
        task = answers.create_task(self._answer(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: Request) -> None:
        try:
            reply = written_json(request.id, {"value": await self._ask(request)})
        except ScriptEndedError:  # ends the others, and the program
            raise
        except ToolFailureError as error:
            self.failures[str(error)] = error
            told = {"message": str(error), "errorType": error.error_type, "tool": error.tool}
            reply = written_json(request.id, {"error": told})
        except PermissionDeniedError as error:
            self.denials[str(error)] = error
            reply = _refusal(request, str(error), "PermissionDeniedError")
        except (BridgeError, OneClawError) as error:
            reply = _refusal(request, str(error))
        except Exception:  # noqa: BLE001  # the program must not wait for ever because a bridge is broken
            _log.exception("the bridge %s failed", request.name)
            reply = _refusal(request, f"{request.name} failed; the reason stands in OneClaw's log")
        await self._process.send(reply)
        self._open.pop(request.id, None)
        self._sleeps -= request.name == "_sleep"

    async def _ask(self, request: Request) -> Any:
        handler = self._bridges.handlers.get(request.name)
        if handler is None:
            raise BridgeError(f"{request.name} cannot be used here")
        return await handler(request.arguments)


def _refusal(request: Request, message: str, name: str = "Error") -> bytes:
    return written_json(request.id, {"error": {"name": name, "message": message}})
