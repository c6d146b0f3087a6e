"""Running JavaScript in a separate process, which is killed when its time is up.

Each call gets a fresh engine in a fresh process: nothing of one program is left for the next. Nothing depends on the
good will of the engine, which cannot break off a regular expression, nor of the program.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_core.process import SandboxPolicy, describe_end, python_process
from oneclaw_javascript.bridges import JavaScriptBridges
from oneclaw_javascript.conversation import MAX_CONSOLE_CHARACTERS, Conversation
from oneclaw_javascript.errors import JavaScriptError, JavaScriptTimeoutError
from oneclaw_javascript.failures import LINES_PER_SOURCE, error_of
from oneclaw_javascript.protocol import Checked, Failed, ProtocolError, Returned
from oneclaw_javascript.result import JavaScriptResult, console_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from oneclaw_core.process import PythonProcess
    from oneclaw_javascript.protocol import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOptions:
    """Options of a script, which can be run again with the same outcome.

    Attributes:
        now_ms: the time that it sees, in milliseconds since 1970.
        seed: of its random numbers, four numbers of 32 bits.
        tool_names: the tools that it may call; ``None`` for no ``tools`` at all.
        can_evaluate: True if it may make code of texts.
    """

    now_ms: int
    seed: tuple[int, ...]
    tool_names: tuple[str, ...] | None = None
    can_evaluate: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what the engine's side reads."""
        names = {} if self.tool_names is None else {"tool_names": list(self.tool_names)}
        seed = [each - 2**32 if each >= 2**31 else each for each in self.seed]
        return {"now_ms": self.now_ms, "seed": seed, "is_evaluation_allowed": self.can_evaluate, **names}


# Changed with what the same code comes to; then no earlier script is continued.
ENGINE_VERSION = 1
DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024
MIN_MEMORY_BYTES = 4 * 1024 * 1024
MAX_CODE_CHARACTERS = 1_000_000
MAX_RESULT_CHARACTERS = 1_000_000
CHECK_SECONDS = 5.0
# A busy machine may take a while; the program's own time begins after that.
_START_SECONDS = 30.0
# The process ends by itself if no one is left to end it.
_SPARE_CPU_SECONDS = 10
_MIN_WAIT_SECONDS = 0.02
_HERE = str(Path(__file__).parent)
_ENGINE = Path(__file__).with_name("engine")
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,99}")
# Some Pythons need them to start; everything else in the environment is none of the program's business.
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
# No files, no network, no other process.
_NOTHING = SandboxPolicy(is_system_readable=False, can_start_programs=False)

_log = logging.getLogger("oneclaw.javascript")


async def run_javascript(
    code: str,
    *,
    function_name: str | None = None,
    params: Mapping[str, Any] | None = None,
    bridges: JavaScriptBridges | None = None,
    timeout_seconds: float = 30.0,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    script: ScriptOptions | None = None,
) -> JavaScriptResult:
    """Run JavaScript code, or a function that it defines.

    Code may await and return at its top level. Promises are awaited, and so are requests that no one waits for.

    Args:
        code: the program, also what is called a module's body; it cannot import.
        function_name: the function to call with ``params``, which the code has to define. Without it, a function
            ``main`` is called if the code defines one and does not call it by itself; else the value is that of the
            last statement, or what the code returns.
        params: JSON data; the code finds it under the same name.
        bridges: what the code can reach; ``None`` for nothing but its console.
        timeout_seconds: how long it may run, questions to the user not counted.
        memory_bytes: what it may allocate.
        script: for a script of a model; ``None`` for any other program.

    Returns:
        Its value.

    Raises:
        JavaScriptSyntaxError: the code cannot be parsed.
        JavaScriptTimeoutError: it was stopped after its time.
        JavaScriptError: it threw something, or its value is none that JSON can hold, or its process died.
        PermissionDeniedError: a bridge was denied a permission, and the code did not catch that.
        ScriptEndedError: a bridge ended the script.
        UsageError: an argument is not acceptable.
    """
    job = _job(code, "main" if function_name is None else function_name, params or {}, bridges)
    job["is_required"] = function_name is not None
    if script is not None:
        job["script"] = script.to_dict()
    ending, conversation = await _converse(job, bridges or JavaScriptBridges(), timeout_seconds, memory_bytes)
    if isinstance(ending, Returned):
        value = ending.value
        text = value if isinstance(value, str) else "" if value is None else ending.json
        return JavaScriptResult(value, text, conversation.console, ending.is_undefined)
    if isinstance(ending, Failed):
        denial = conversation.denials.get(ending.message) if ending.name == "PermissionDeniedError" else None
        error = _with_console(error_of(ending, code), conversation)
        error.failure = conversation.failures.get(ending.message) if ending.name == "ToolError" else None
        raise denial or error
    raise _with_console(
        JavaScriptError("the code waits for a promise that nothing will ever settle; resolve it, or do not await it"),
        conversation,
    )


async def check_javascript(code: str, function_name: str) -> bool:
    """Parse code, and see whether it defines a function.

    What stands outside functions is run, as at every call, but it can reach nothing.

    Args:
        code: the program.
        function_name: the function.

    Returns:
        Whether the code defines it.

    Raises:
        JavaScriptSyntaxError: the code cannot be parsed.
        JavaScriptTimeoutError: what stands outside functions does not end.
        JavaScriptError: the process that ran the code died.
        UsageError: an argument is not acceptable.
    """
    job = _job(code, function_name, {}, None) | {"is_check": True}
    ending, _ = await _converse(job, JavaScriptBridges(), CHECK_SECONDS, DEFAULT_MEMORY_BYTES)
    if isinstance(ending, Failed):
        raise error_of(ending, code)
    return isinstance(ending, Checked) and ending.is_defined


def _job(code: str, function_name: str, params: Mapping[str, Any], bridges: JavaScriptBridges | None) -> dict[str, Any]:
    if len(code) > MAX_CODE_CHARACTERS or code.count("\n") >= LINES_PER_SOURCE:
        raise UsageError(
            f"the code is too long: {MAX_CODE_CHARACTERS:,} characters and {LINES_PER_SOURCE:,} lines are the most"
        )
    if not _IDENTIFIER.fullmatch(function_name):
        raise UsageError(f"{function_name[:100]!r} is not a valid name for a function: use letters, digits, _ and $")
    return {
        "code": code,
        "function_name": function_name,
        "params": dict(params),
        "bridges": sorted(bridges.handlers) if bridges else [],
        "console_characters": MAX_CONSOLE_CHARACTERS,
        "result_characters": MAX_RESULT_CHARACTERS,
    }


async def _converse(
    job: dict[str, Any], bridges: JavaScriptBridges, timeout_seconds: float, memory_bytes: int
) -> tuple[Ending, Conversation]:
    if not timeout_seconds > 0 or memory_bytes < MIN_MEMORY_BYTES:
        raise UsageError(f"a program needs time, and {MIN_MEMORY_BYTES:,} bytes of memory or more")
    async with _worker(timeout_seconds, memory_bytes) as process:
        conversation = Conversation(process, bridges)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await conversation.start(_engine_source())
            ending = await _before_deadline(conversation, job, bridges, timeout_seconds)
        except TimeoutError:
            raise JavaScriptError("the process for the code did not start in time; try again") from None
        except asyncio.IncompleteReadError:
            await process.wait()
            cause = describe_end(process.returncode)
            _log.warning("the JavaScript worker process %s before it had answered", cause)
            error = JavaScriptError(f"the process that ran the code {cause} before the code had finished")
            raise _with_console(error, conversation) from None
        except ProtocolError as error:
            _log.warning("the JavaScript worker process was ended because it sent %s", error)
            raise JavaScriptError("the process that ran the code answered nonsense, and was ended") from None
        return ending, conversation


async def _before_deadline(
    conversation: Conversation, job: dict[str, Any], bridges: JavaScriptBridges, timeout_seconds: float
) -> Ending:
    task = asyncio.create_task(conversation.run(job))
    started = time.monotonic()
    asked_before = bridges.asked_seconds()
    try:
        while True:
            asked = bridges.asked_seconds() - asked_before
            remaining = started + timeout_seconds + asked - time.monotonic()
            if remaining <= 0:
                message = (
                    f"the code was stopped after {timeout_seconds:g} s; do less at a time, or look for an endless loop"
                )
                raise _with_console(JavaScriptTimeoutError(message), conversation)
            # A question that is open now moves the deadline, which is looked at again when it would have been reached.
            await asyncio.wait({task}, timeout=max(remaining, _MIN_WAIT_SECONDS))
            if task.done():
                return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _worker(timeout_seconds: float, memory_bytes: int) -> AbstractAsyncContextManager[PythonProcess]:
    """Start a worker process, which is gone in the end."""
    return python_process(
        "worker:main",
        str(memory_bytes),
        str(math.ceil(timeout_seconds) + _SPARE_CPU_SECONDS),
        is_bare=True,
        search_path=[_HERE, _engine_directory()],
        directory="/",
        environ={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        preload=("worker", "_quickjs"),
        policy=_NOTHING,
    )


@cache
def engine_name(version: int) -> str:
    """Return what the outcome of a script depends on: the engine's version and that of what stands around it.

    Args:
        version: of what stands around it.
    """
    from importlib.metadata import version as version_of

    return f"quickjs-ng {version_of('quickjs-ng')}, {version}"


@cache
def _engine_directory() -> str:
    """Find the engine without importing it."""
    found = find_spec("_quickjs")
    if found is None or found.origin is None:
        raise JavaScriptError("the JavaScript engine is not installed; install it with: pip install quickjs-ng")
    return str(Path(found.origin).parent)


@cache
def _engine_source() -> bytes:
    """Put together what stands between the worker and a program."""
    parts = [path.read_text(encoding="utf-8") for path in sorted(_ENGINE.glob("*.js"))]
    # All sources go by the same file name; what line an error is at tells them apart.
    return ("\n" * LINES_PER_SOURCE + "".join(["(() => {\n", *parts, "})()"])).encode()


def _with_console(error: JavaScriptError, conversation: Conversation) -> JavaScriptError:
    error.console = console_text(conversation.console)
    return error
