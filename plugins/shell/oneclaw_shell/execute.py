"""The core tool ``exec``: shell commands."""

from __future__ import annotations

import signal
from contextlib import nullcontext
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, ToolResult, UsageError, redact
from oneclaw_core.process import ProgramEnd, SandboxError, run_program
from oneclaw_shell.denials import find_denials, report
from oneclaw_shell.made_places import settle_made_places
from oneclaw_shell.network import denied_connections
from oneclaw_shell.place import Needs, find_place
from oneclaw_shell.truncation import TruncatedOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_shell.denials import Denial
    from oneclaw_shell.place import Place

SHELL = "/bin/sh"
DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 120
DEFAULT_MAX_LENGTH = 50_000
# What is kept of an output lies in memory.
MAX_LENGTH = 1_000_000
# The longest single argument that Linux gives to a program.
MAX_COMMAND_BYTES = 128 * 1024 - 1
# Of what a model is shown, for what is written around the outputs.
_FRAME_CHARACTERS = 1_500
_NOTHING = "[no output]"


async def execute(
    command: str,
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS,
    working_directory: str | None = None,
    max_length: int = DEFAULT_MAX_LENGTH,
    needs: Sequence[str] = (),
    reason: str = "",
    *,
    context: ToolContext,
) -> ToolResult:
    """Run a shell command, without a terminal and with nothing to read.

    Args:
        command: for ``sh -c``.
        timeout_seconds: how long it may run, within 1 to 120.
        working_directory: where it runs; absolute, or relative to the start directory, else to the workspace, which is
            the default.
        max_length: how many characters to keep of its output, and of its error output.
        needs: what it needs beyond the sandbox: ``write:/PATH``, ``read:/PATH``, ``network:HOST``, ``unsandboxed``.
        reason: why, for the user.
        context: of the call.

    Returns:
        Exit code and outputs, whatever the exit code is, also when the time was up.
    """
    fault = fault_of(command)
    if fault is None and max_length < 1:
        fault = f"max_length must be 1 or more, not {max_length}."
    if fault is not None:
        return ToolResult.error("validation_error", fault)
    try:
        directory, place = await placed(command, working_directory, needs, reason, context)
    except (SandboxError, UsageError) as error:
        return ToolResult.error("validation_error", f"{error}.")
    seconds = min(max(int(timeout_seconds), 1), MAX_TIMEOUT_SECONDS)
    stdout, stderr = (TruncatedOutput(min(int(max_length), MAX_LENGTH)) for _ in range(2))
    try:
        end, place, refused = await run_in_place(command, directory, place, seconds, stdout.feed, stderr.feed)
    except SandboxError as error:
        stderr.finish()
        why = f"{error}: {stderr.text(_FRAME_CHARACTERS)}".strip()
        return ToolResult.error("execution_error", f"The command has not run: {why}")
    except OSError as error:
        return ToolResult.error("execution_error", f"The command cannot be started: {error.strerror or error}.")
    except OneClawError as error:
        return ToolResult.error("execution_error", f"How the command ended is not known: {error}.")
    stdout.finish()
    stderr.finish()
    shown = context.shown_characters
    notes = notes_on(end, seconds, place) + await settle_made_places(place, context)
    if place.backend is not None and place.policy is not None:
        said = f"{stdout.text()}\n{stderr.text()}"
        denials = find_denials(said, end.exit_code, place.policy, directory, context.paths, refused)
        notes += [report(place.backend.name, denials, is_certain=denials == refused)] if denials else []
    return ToolResult.success(redact(_report(end, seconds, stdout, stderr, shown, notes)))


async def placed(
    command: str, working_directory: str | None, needs: Sequence[str], reason: str, context: ToolContext
) -> tuple[Path, Place]:
    """Find the directory of a command and the place where it runs, and ask the user where that is needed.

    Raises:
        PermissionDeniedError: the user does not let it run.
        UsageError: an argument is invalid.
        SandboxError: the sandbox cannot be used.
    """
    directory = context.paths.working_directory(working_directory)
    if working_directory and directory.is_relative_to(context.paths.start_directory.resolve()):
        await context.trusts_start_directory(f"run a command in {directory}")
    return directory, await find_place(command, directory, Needs.read(needs, reason), context)


async def run_in_place(
    command: str,
    directory: Path,
    place: Place,
    seconds: float,
    on_stdout: Callable[[bytes], None],
    on_stderr: Callable[[bytes], None] | None,
) -> tuple[ProgramEnd, Place, list[Denial]]:
    """Run a command; return how it ended, the place where it ran in the end, and the connections that were refused.

    Raises:
        OneClawError, OSError: as for :func:`oneclaw_core.process.run_program`.
    """

    async def run(place: Place) -> tuple[ProgramEnd, Place, list[Denial]]:
        async with place.network.proxy() if place.network is not None else nullcontext() as proxy:
            end = await run_program(
                [SHELL, "-c", command],
                directory=directory,
                timeout_seconds=seconds,
                on_stdout=on_stdout,
                on_stderr=on_stderr,
                sandbox=place.sandbox,
                on_connection=proxy.accept if proxy is not None else None,
            )
        return end, place, denied_connections(proxy) if proxy is not None else []

    try:
        return await run(place)
    except SandboxError:
        backend = place.backend
        if backend is None or place.network is None or place.network.is_needed:
            raise
        # No command has run. Where the network of a sandbox cannot be entered, there is none.
        outcome = await run(place.without_network())
        backend.allows_domains = False
        return outcome


def fault_of(command: str) -> str | None:
    """Say what is wrong with a command that no shell can be given; ``None`` for nothing."""
    if not command.strip():
        return "command must not be blank."
    if "\0" in command:
        return "command must not contain a NUL character."
    try:
        size = len(command.encode())
    except UnicodeEncodeError as error:
        return f"command cannot be written as UTF-8: character {error.start + 1} is half of a surrogate pair."
    if size > MAX_COMMAND_BYTES:
        return f"command must not have more than {MAX_COMMAND_BYTES} bytes; write it to a file, and run that with sh."
    return None


def _report(
    end: ProgramEnd,
    seconds: int,
    stdout: TruncatedOutput,
    stderr: TruncatedOutput,
    shown: int | None,
    notes: list[str],
) -> str:
    limits = (len(stdout), len(stderr))
    if shown is not None:
        limits = _share(max(shown - _FRAME_CHARACTERS, 2), *limits)
    output, errors = (each.text(limit) for each, limit in zip((stdout, stderr), limits, strict=True))
    parts = [f"[exit code: {exit_code_of(end, seconds)}]\n\n", output]
    if not output and not errors:
        parts.append(_NOTHING)
    if errors or end.exit_code is None:
        parts += ["[stderr]", errors]
    return _joined([*parts, *notes])


def _share(room: int, stdout_characters: int, stderr_characters: int) -> tuple[int, int]:
    """Divide what may be shown, so that the ends of both outputs can be seen; neither takes more than it needs."""
    half = room // 2
    errors = min(stderr_characters, max(half, room - stdout_characters))
    return min(stdout_characters, room - errors), errors


def exit_code_of(end: ProgramEnd, seconds: int) -> str:
    """Write the exit code of a command."""
    if end.exit_code is None:
        return f"-1, timed out after {seconds} s"
    if end.exit_code >= 0:
        return str(end.exit_code)
    number = -end.exit_code
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{128 + number}, ended by {name}"


def notes_on(end: ProgramEnd, seconds: int, place: Place) -> list[str]:
    """Say what else the model should know of the end of a command."""
    if end.exit_code is None:
        return [f"[ended after {seconds} s, with all that the command had started]"]
    notes = []
    if end.left_count:
        left = _listed(end.left_names, end.left_count)
        always = "; in the sandbox nothing outlives its command" if place.backend is not None else ""
        notes.append(f"[ended with the command, which had left it in the background: {left}{always}]")
    if end.detached_count:
        detached = _listed(end.detached_names, end.detached_count)
        notes.append(f"[goes on in the background, in a session of its own: {detached}]")
    return notes


def _listed(names: tuple[str, ...], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")


def _joined(parts: list[str]) -> str:
    """Put parts one below the other, each beginning on a separate line."""
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts if part).removesuffix("\n")
