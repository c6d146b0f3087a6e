"""Commands in the background: started, awaited, stopped, and what they leave behind."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError, UsageError, redact
from oneclaw_core.process import SandboxError
from oneclaw_core.sessions import BackgroundWork
from oneclaw_shell.denials import find_denials, report
from oneclaw_shell.execute import exit_code_of, notes_on, run_in_place
from oneclaw_shell.made_places import settle_made_places
from oneclaw_shell.output_file import OutputFile, read_output

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import PluginContext, ToolContext
    from oneclaw_core.sessions import PluginStorage
    from oneclaw_shell.place import Place

KIND = "command"
MAX_RUNNING = 16
_TITLE_CHARACTERS = 300
_DENIAL_BYTES = 200_000
_KEPT_SECONDS = 7 * 86_400


@dataclass(slots=True)
class Running:
    """A command that runs in this process.

    Attributes:
        storage: of the conversation that started it.
        document: what is stored of it.
        output: what it has written.
        task: runs it.
        has_begun: True once the task runs.
        is_stopped: True if it was asked to stop.
    """

    storage: PluginStorage
    document: dict[str, Any]
    output: OutputFile
    task: asyncio.Task[None] | None = None
    has_begun: bool = False
    is_stopped: bool = False


@dataclass(slots=True)
class Commands:
    """The commands in the background of this process.

    Attributes:
        plugin: the context of the plugin.
        running: those that run now, by their ids.
    """

    plugin: PluginContext
    running: dict[str, Running] = field(default_factory=dict)

    def path(self, command_id: str) -> Path:
        """Return the file with the output of a command."""
        return self._folder() / f"{command_id}.log"

    async def start(
        self, command: str, directory: Path, place: Place, max_seconds: int, context: ToolContext, session_id: str
    ) -> str:
        """Start a command; return its id.

        Raises:
            UsageError: too many run already.
        """
        if len(self.running) >= MAX_RUNNING:
            raise UsageError(f"{len(self.running)} commands run in the background already: stop one")
        if place.network is not None:
            place.network.is_in_background = True
        self._prune()
        command_id = f"cmd-{secrets.token_hex(4)}"
        document: dict[str, Any] = {"command": command, "directory": str(directory), "state": "running", "exit": ""}
        document |= {"notes": [], "began": time.time(), "seconds": None, "dropped": 0, "read": 0}
        storage = self.plugin.storage.of_session(session_id)
        running = Running(storage, document, OutputFile(self.path(command_id)))
        self.running[command_id] = running
        try:
            await storage.set(_key(command_id), document)
            loop = asyncio.get_running_loop()
            work = BackgroundWork(
                id=command_id,
                kind=KIND,
                title=redact(command)[:_TITLE_CHARACTERS],
                plugin=self.plugin.name,
                session_id=session_id,
            )

            def stop() -> None:
                loop.call_soon_threadsafe(self._stop, running)

            await self.plugin.services.background.begin(work, stop)
        except BaseException:
            del self.running[command_id]
            running.output.close()
            raise
        work_of_it = self._run(command_id, running, directory, place, max_seconds, context)
        running.task = self.plugin.start_task(work_of_it, name=command_id)
        return command_id

    async def wait(self, command_id: str, seconds: float) -> None:
        """Wait until a command of this process has ended.

        Args:
            command_id: which.
            seconds: how long at most.
        """
        running = self.running.get(command_id)
        if running is not None and running.task is not None and seconds > 0:
            await asyncio.wait({running.task}, timeout=seconds)

    async def documents(self, session_id: str) -> dict[str, dict[str, Any]]:
        """Return what is known of the commands of a conversation, by their ids."""
        stored = await self.plugin.storage.of_session(session_id).list(_key(""))
        found = {key.removeprefix(_key("")): document for key, document in stored.items()}
        for command_id, running in self.running.items():
            if command_id in found:
                found[command_id]["dropped"] = running.output.dropped
        if any(each["state"] == "running" and command_id not in self.running for command_id, each in found.items()):
            live = {each.id for each in await self.plugin.services.background.all_work() if each.is_running}
            for command_id, each in found.items():
                if each["state"] == "running" and command_id not in live:
                    each["state"] = "interrupted"
                    each["notes"] = ["[ended with the program that had started it]"]
        return found

    async def note_read(self, session_id: str, command_id: str, document: dict[str, Any], end: int) -> None:
        """Note how far a conversation has read, and if it knows of the end.

        Args:
            session_id: the conversation.
            command_id: which.
            document: what it was shown.
            end: how many bytes of the output it knows.
        """

        def change(now: dict[str, Any] | None) -> dict[str, Any]:
            return {**(now or document), "read": end}

        await self.plugin.storage.of_session(session_id).change(_key(command_id), change)
        if document["state"] != "running":
            await self.plugin.services.background.told([command_id])

    def _stop(self, running: Running) -> None:
        running.is_stopped = True
        if running.has_begun and running.task is not None and not running.task.done():
            running.task.cancel()

    async def _run(
        self,
        command_id: str,
        running: Running,
        directory: Path,
        place: Place,
        max_seconds: int,
        context: ToolContext,
    ) -> None:
        """Run a command; if the program ends before, its record is left as it is."""
        document, outcome = running.document, ""
        try:
            running.has_begun = True
            if running.is_stopped:  # a task that is cancelled before it begins would leave its record as it is
                raise asyncio.CancelledError
            end, ran_in, refused = await run_in_place(
                document["command"], directory, place, max_seconds, running.output.feed, None
            )
            outcome = f"exit code {exit_code_of(end, max_seconds)}"
            document |= {"state": "ended" if end.exit_code is not None else "stopped", "exit": outcome}
            notes = notes_on(end, max_seconds, ran_in) + await settle_made_places(ran_in, context)
            if ran_in.backend is not None and ran_in.policy is not None:
                said, _, _ = read_output(self.path(command_id), 0, 0)
                text = said[-_DENIAL_BYTES:].decode("utf-8", "replace")
                denials = find_denials(text, end.exit_code, ran_in.policy, directory, context.paths, refused)
                notes += [report(ran_in.backend.name, denials, is_certain=denials == refused)] if denials else []
            document["notes"] = notes
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not running.is_stopped or current is None:
                raise
            current.uncancel()
            made = await settle_made_places(place, context)
            document |= {"state": "stopped", "notes": ["[stopped, with all that it had started]", *made]}
        except SandboxError as error:
            document |= {"state": "failed", "notes": [f"[the command has not run: {error}]"]}
        except OSError as error:
            document |= {"state": "failed", "notes": [f"[the command cannot be started: {error.strerror or error}]"]}
        except OneClawError as error:
            document |= {"state": "failed", "notes": [f"[how the command ended is not known: {error}]"]}
        finally:
            self.running.pop(command_id, None)
            running.output.close()
        document |= {"dropped": running.output.dropped, "seconds": time.time() - document["began"]}
        await context.record_writes()
        try:
            await running.storage.change(_key(command_id), lambda now: {**document, "read": (now or document)["read"]})
        except OneClawError as error:  # such as a conversation that is deleted
            self.plugin.logger.warning("the end of the command %s is not kept: %s", command_id, error)
        await self.plugin.services.background.end(command_id, document["state"], outcome)

    def _folder(self) -> Path:
        folder = self.plugin.folder / "output"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _prune(self) -> None:
        """Remove outputs that are a week old."""
        oldest = time.time() - _KEPT_SECONDS
        for path in self._folder().glob("cmd-*.log"):
            if path.stem not in self.running and path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def _key(command_id: str) -> str:
    return f"command:{command_id}"
