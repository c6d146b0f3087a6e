"""Sub-agents at work: started, awaited, stopped, and what they leave behind."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import (
    AgentLimits,
    OneClawError,
    ToolContext,
    TurnFinishedEvent,
    TurnStoppedError,
    UsageError,
    UsageEvent,
)
from oneclaw_core.sessions import BackgroundWork

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import PluginContext, ToolSelection
    from oneclaw_core.sessions import PluginStorage

KIND = "agent"
_MAX_ANSWER_CHARACTERS = 200_000
_TASK_CHARACTERS = 300
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a sub-agent, with its limits.

    Attributes:
        text: for the sub-agent.
        name: a word for people.
        agent: the agent's name, ``None`` for that of the conversation.
        selection: the tools that it may have.
        groups: tool groups that are loaded at once, ``None`` for none.
        limits: of its turn.
        max_seconds: how long it may take.
        output_schema: JSON Schema of its answer, ``None`` for a text.
    """

    text: str
    name: str
    agent: str | None
    selection: ToolSelection
    groups: tuple[str, ...] | None
    limits: AgentLimits
    max_seconds: int
    output_schema: dict[str, Any] | None = None


@dataclass(slots=True)
class Run:
    """A sub-agent that works in this process.

    Attributes:
        id: also the name of its session.
        storage: of the conversation that started it.
        document: what is stored of it.
        task: does the work.
        has_begun: True once the task runs.
        is_stopped: True if it was asked to stop.
    """

    id: str
    storage: PluginStorage
    document: dict[str, Any]
    task: asyncio.Task[None] | None = None
    has_begun: bool = False
    is_stopped: bool = False


@dataclass(slots=True)
class Runs:
    """The sub-agents of this process.

    Attributes:
        plugin: the context of the plugin.
        running: those that work now, by their ids.
        starting: held while one is started.
        changed: set, and renewed, when one ends.
    """

    plugin: PluginContext
    running: dict[str, Run] = field(default_factory=dict)
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, task: Task, context: ToolContext, session_id: str) -> str:
        """Start a sub-agent; return its id.

        Args:
            task: what it is to do.
            context: of the call that starts it.
            session_id: the conversation.

        Raises:
            UsageError: too many work already.
        """
        most = self.plugin.settings.max_running
        services = context.services
        async with self.starting:
            if len(self.running) >= most:
                raise UsageError(
                    f"{len(self.running)} sub-agents work already, and the setting agents.max_running allows {most}: "
                    "wait for one, or stop one"
                )
            run_id = f"{task.name}-{secrets.token_hex(4)}"
            document: dict[str, Any] = {"agent": task.agent or context.agent_name, "task": task.text[:_TASK_CHARACTERS]}
            document |= {"state": "running", "answer": "", "error": "", "requests": 0, "tokens": 0, "marks": []}
            run = Run(run_id, self.plugin.storage.of_session(session_id), document)
            loop = asyncio.get_running_loop()
            work = BackgroundWork(
                id=run_id, kind=KIND, title=task.text[:_TASK_CHARACTERS], plugin=self.plugin.name, session_id=session_id
            )

            def stop() -> None:
                loop.call_soon_threadsafe(self._stop, run)

            # Before it is stored: what is stored as running, and goes on nowhere, counts as interrupted.
            self.running[run_id] = run
            try:
                await run.storage.set(_key(run_id), document)
                await services.background.begin(work, stop)
            except BaseException:
                del self.running[run_id]
                with suppress(OneClawError):
                    await run.storage.delete(_key(run_id))  # else it would be told of as interrupted
                raise
            run.task = self.plugin.start_task(self._work(run, task, context), name=run_id)
        return run_id

    async def wait(self, session_id: str, ids: Iterable[str], seconds: float, *, for_any: bool) -> None:
        """Wait until sub-agents have ended.

        Args:
            session_id: the conversation.
            ids: which.
            seconds: how long at most.
            for_any: True to wait for the first one only.
        """
        wanted = set(ids)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while wanted:
                    changed = self.changed
                    found = await self.documents(session_id)
                    running = {each for each in wanted if found.get(each, {}).get("state") == "running"}
                    if not running or (for_any and running != wanted):
                        return
                    with suppress(TimeoutError):  # those of other processes are looked for now and then
                        async with asyncio.timeout(_POLL_SECONDS):
                            await changed.wait()

    async def documents(self, session_id: str) -> dict[str, dict[str, Any]]:
        """Return what is stored of the sub-agents of a conversation, by their ids."""
        found = await self._stored(session_id)
        if any(each["state"] == "running" and run_id not in self.running for run_id, each in found.items()):
            live = {each.id for each in await self.plugin.services.background.all_work() if each.is_running}
            # One that has ended meanwhile has stored its outcome before it was taken off the work that goes on.
            before, found = found, await self._stored(session_id)
            for run_id, each in found.items():
                # One that was stored after the look at what goes on may have begun in another process.
                is_known = run_id in before and each["state"] == "running"
                if is_known and run_id not in live and run_id not in self.running:
                    each["state"] = "interrupted"
                    each["error"] = "the program ended before it had"
        return found

    async def _stored(self, session_id: str) -> dict[str, dict[str, Any]]:
        stored = await self.plugin.storage.of_session(session_id).list(_key(""))
        return {key.removeprefix(_key("")): document for key, document in stored.items()}

    async def note_told(self, session_id: str, documents: dict[str, dict[str, Any]]) -> None:
        """Note that a conversation has the outcomes of sub-agents."""
        storage = self.plugin.storage.of_session(session_id)
        for run_id, document in documents.items():
            await storage.set(_key(run_id), document | {"is_told": True})
        await self.plugin.services.background.told(documents)

    def _stop(self, run: Run) -> None:
        run.is_stopped = True
        if run.has_begun and run.task is not None and not run.task.done():
            run.task.cancel()

    async def _work(self, run: Run, task: Task, context: ToolContext) -> None:
        """Have the sub-agent do its task; if the program ends before, its record is left as it is."""
        within = replace(context, selection=task.selection, marks=list(context.marks))
        document = run.document
        services = self.plugin.services
        try:
            run.has_begun = True
            if run.is_stopped:  # a task that is cancelled before it begins would leave its record as it is
                raise asyncio.CancelledError
            async with asyncio.timeout(task.max_seconds):
                events = services.send_message(
                    task.text,
                    session=run.id,
                    agent=task.agent or context.agent_name,
                    tool_groups=task.groups,
                    within=within,
                    limits=task.limits,
                    output=task.output_schema,
                )
                async with aclosing(events):
                    async for event in events:
                        if isinstance(event, UsageEvent):
                            document["requests"] += 1
                            document["tokens"] += (event.usage.input_tokens or 0) + (event.usage.output_tokens or 0)
                        elif isinstance(event, TurnFinishedEvent):
                            document["answer"] = event.text[:_MAX_ANSWER_CHARACTERS]
            document["state"] = "ended"
        except TimeoutError:
            document |= {"state": "stopped", "error": f"it was stopped after {task.max_seconds} s"}
        except TurnStoppedError as error:
            document |= {"state": "stopped", "error": str(error)}
        except OneClawError as error:
            document |= {"state": "failed", "error": str(error)}
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not run.is_stopped or current is None:
                raise
            current.uncancel()
            document |= {"state": "stopped", "error": "it was stopped"}
        except Exception as error:
            document |= {"state": "failed", "error": f"{type(error).__name__}: {error}"}
            self.plugin.logger.exception("the sub-agent %s failed", run.id)
        finally:
            self.running.pop(run.id, None)
        document["marks"] = [[str(each.kind), each.origin] for each in within.marks]
        try:
            await run.storage.set(_key(run.id), document)
        except OneClawError as error:  # such as a conversation that is deleted
            self.plugin.logger.warning("the answer of the sub-agent %s is not kept: %s", run.id, error)
        await services.background.end(run.id, document["state"])
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


def _key(run_id: str) -> str:
    return f"agent:{run_id}"
