"""In the child process: call each tool with odd arguments, in a home that is thrown away, with nothing permitted."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.json_schema import result_faults
from oneclaw_core.permissions import Decision, Grant
from oneclaw_devtools.conformance.arguments import Case, cases
from oneclaw_devtools.conformance.guard import Guard
from oneclaw_devtools.conformance.inspect import entry_points
from oneclaw_devtools.conformance.probe_child import ProcessState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import OneClaw, ToolResult
    from oneclaw_devtools.conformance.probe_child import Channel

SHOWN_CHARACTERS = 300
KEY_VARIABLE = "OPENAI_API_KEY"
TRACEBACK = "Traceback (most recent call last)"


class RaisedExceptions(logging.Handler):
    """Hears from the engine's log which exceptions tools raise; their results do not tell them from errors."""

    def __init__(self) -> None:
        super().__init__()
        self._last: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Note the type of an exception."""
        if record.exc_info and record.exc_info[0] is not None:
            self._last = record.exc_info[0].__name__

    def take(self) -> str | None:
        """The type of the last one since this was last asked."""
        last, self._last = self._last, None
        return last


def make_calls(request: Mapping[str, Any], channel: Channel) -> None:
    """Call the tools one by one, and send what came of each call."""
    Path(request["secret_file"]).write_text(request["secret"], encoding="utf-8")
    asyncio.run(_make_calls(request, channel))


async def _make_calls(request: Mapping[str, Any], channel: Channel) -> None:
    from oneclaw_core import OneClaw

    scratch = Path(request["scratch"])
    home, secret_file = Path(request["home"]), Path(request["secret_file"])
    async with OneClaw.open(home, environ={}, plugins=()) as claw:
        for permission in request["permissions"]:
            await claw.store.set_grant(Grant(permission, decision=Decision.DENY))
    os.environ[KEY_VARIABLE] = request["key"]
    async with OneClaw.open(
        home, allow=request["allow"], environ={}, start_directory=Path.cwd(), plugins=entry_points(request, channel)
    ) as claw:
        guard = Guard(scratch, request["allow"])
        guard.install()
        failures = RaisedExceptions()
        logging.getLogger("oneclaw.executor").addHandler(failures)
        for name in request["tools"]:
            definition = claw.catalog.registry.get_definition(name)
            if definition is not None:
                # The process that it would run in would not be watched.
                here = replace(definition, behaviour=replace(definition.behaviour, isolation=None))
                with suppress(AttributeError):
                    claw.catalog.registry.get_tool(name).definition = here  # type: ignore[union-attr,misc]
            for case in cases(definition.parameters, str(secret_file)) if definition is not None else ():
                await _call(claw, name, case, guard, failures, request, channel)


async def _call(
    claw: OneClaw,
    name: str,
    case: Case,
    guard: Guard,
    failures: RaisedExceptions,
    request: Mapping[str, Any],
    channel: Channel,
) -> None:
    arguments = json.dumps(case.arguments)
    about = {"tool": name, "case": case.name, "arguments": arguments[:SHOWN_CHARACTERS]}
    channel.printed()
    guard.take()
    guard.take_observed()
    failures.take()
    before = ProcessState.now()
    # A call that does not end is told from one that lets nothing else run.
    channel.send({"calling": about, "patience_seconds": request["call_seconds"] + 2})
    call = asyncio.create_task(claw.call_tool(name, arguments))
    await asyncio.wait({call}, timeout=request["call_seconds"])
    if not call.done():
        channel.send({"late": about})
        channel.send({"done": True})
        os._exit(0)  # what hangs cannot be waited for
    result = call.result().result
    text = result.text()
    channel.send(
        {
            "called": {
                **about,
                "status": str(result.status),
                "error_type": result.error_type,
                "text": text[:SHOWN_CHARACTERS],
                "size_characters": len(text),
                "printed": channel.printed(),
                "changes": [each for each in before.changes() if not each.startswith("threads")],
                "guarded": guard.take(),
                "observed": guard.take_observed(),
                "leaks": _leaks(text, request),
                "raised": failures.take(),
                "misfits": _misfits(claw, name, result),
            }
        }
    )


def _misfits(claw: OneClaw, name: str, result: ToolResult) -> list[str]:
    definition = claw.services.registry.get_definition(name)
    return result_faults(definition, result) if definition is not None else []


def _leaks(text: str, request: Mapping[str, Any]) -> list[str]:
    marks = {"key": request["key"], "file": request["secret"], "traceback": TRACEBACK}
    return [what for what, mark in marks.items() if mark in text]
