"""The context of one tool call, and of the turn that it belongs to."""

from __future__ import annotations

import json
import logging
import math
import uuid
import warnings
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import NotFoundError, OneClawError, PermissionDeniedError
from oneclaw_core.files.views import FileViews
from oneclaw_core.types.budget import ScriptAllowance, TurnBudget
from oneclaw_core.types.kept_results import KeptResult
from oneclaw_core.types.provenance import Mark, MarkKind, Provenance
from oneclaw_core.types.tools import ALL_TOOLS, Act, ToolResult, ToolSelection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

    import httpx

    from oneclaw_core.contract.arguments import TurnInfo
    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.tools.calls.running_call import RunningCall, ToolCalls
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import Attachment, Message

    FindResult = Callable[[str, str], Awaitable[Message | None]]

_Value = TypeVar("_Value")

NOT_IN_A_RUNNING_CALL = (
    "this service of ToolContext is there only in a call that the executor runs, not in a worker process: "
    "run the tool by OneClaw.call_tool, without isolation='process'"
)


# Never changes: a call that an older version stored keeps its key.
_KEY_NAMESPACE = uuid.UUID("8f9b5c8e-4a53-5d0c-9b57-3c1f0a6f5b1e")


async def _in_thread(call: Callable[[], _Value]) -> _Value:
    # Imported here, for worker processes have no use for it.
    from oneclaw_core.system.threads import run_in_thread

    return await run_in_thread(call)


async def _run_here(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


@dataclass(slots=True)
class ToolContext:
    """The guards and services of one tool call.

    A function gets it by a parameter annotated ``ToolContext``; the model never sees that parameter.

    Attributes:
        home: the directory with everything that belongs to the user.
        session_id: the conversation, ``None`` outside one (``oneclaw call``).
        agent_name: the agent that calls.
        tool_name: the tool called.
        call_id: the id of this call, unique in its session.
        paths: which files the tool may read and write.
        selection: the tools that the agent may have.
        turn: the turn that the call belongs to, ``None`` outside one.
        shown_characters: how many characters of :attr:`~oneclaw_core.ToolResult.text` the model is shown, ``None``
            for all of them, outside a conversation. What gives a long text in parts makes them no longer than that,
            the rest of the result included: what is past it the model does not see, nor where the next part would
            begin.
        is_inner_call: True if another tool makes the call, such as a script: it takes values, not text for a model.
        deps: what the embedding program passed to ``OneClaw.open(deps=...)``; ``None`` in a worker process.
        run_async: runs async code of the tool, given a function that makes a coroutine, on the event loop of the tool.
        marks: where the result comes from, as far as is known.
        conversation: where the text of the conversation comes from.
    """

    home: Path
    session_id: str | None
    agent_name: str
    tool_name: str
    call_id: str
    paths: PathGuard
    _call: RunningCall | None = field(default=None, repr=False)
    _services: HomeServices | None = field(default=None, repr=False)
    _plugin: PluginContext | None = field(default=None, repr=False)
    deps: Any = field(default=None, repr=False)
    selection: ToolSelection = ALL_TOOLS
    turn: TurnScope | None = field(default=None, repr=False)
    shown_characters: int | None = None
    is_inner_call: bool = False
    run_async: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]] = field(default=_run_here, repr=False)
    marks: list[Mark] = field(default_factory=list, repr=False)
    conversation: Provenance = field(default_factory=Provenance, repr=False)

    @property
    def services(self) -> HomeServices:
        """Services of the open home: agents, configuration, sessions and the like.

        Raises:
            OneClawError: the tool runs in a worker process, or was executed by hand.
        """
        # Worker processes wait for the imports of this module, and need no asyncio.
        from oneclaw_core.system.loops import is_worker_thread

        if self._services is None:
            raise OneClawError(NOT_IN_A_RUNNING_CALL)
        from oneclaw_core.capabilities.declaration import declared_services

        services = self._services.for_other_loop() if is_worker_thread() else self._services
        return declared_services(services, self._plugin.declaration if self._plugin is not None else None)

    @property
    def plugin(self) -> PluginContext:
        """The services of the plugin that registered the tool: its settings, storage and the like.

        Raises:
            OneClawError: the tool runs in a worker process, was executed by hand, or is not a plugin's.
        """
        if self._plugin is None:
            raise OneClawError(NOT_IN_A_RUNNING_CALL)
        return self._plugin

    @property
    def idempotency_key(self) -> str:
        """A text that stands for this one call, for services that take such a key and do what they are asked once.

        A stored call has the same key when it runs again after a crash. No other call has it, in any session.
        """
        return str(uuid.uuid5(_KEY_NAMESPACE, f"{self.session_id or ''}/{self.call_id}"))

    @property
    def logger(self) -> logging.Logger:
        """Writes to the log in the home, under the tool's name."""
        return logging.getLogger(f"oneclaw.tool.{self.tool_name}")

    @property
    def http(self) -> httpx.AsyncClient:
        """An HTTP client that reaches public addresses only.

        It refuses private addresses, also behind redirects, unless the user grants ``network.private``. The framework
        closes it.

        In a conversation that holds text from outside and private data, it asks the user before it sends what a model
        may have composed, ``data.send``. What it receives marks the result as text from outside.
        """
        return self._running.network.clients().of_loop()

    @property
    def service_http(self) -> httpx.AsyncClient:
        """The same for the service that the plugin is made for, whose address no model chooses.

        It does not ask before it sends, so the tool asks for a separate permission. It marks nothing, so the tool
        declares what it ``reads``.
        """
        return self._running.network.clients(is_service=True).of_loop()

    @property
    def sync_http(self) -> httpx.Client:
        """The same for a synchronous tool."""
        return self._running.network.clients().of_threads()

    def mark_outside(self, origin: str) -> None:
        """Mark the result as text that others wrote; :func:`oneclaw_core.untrusted` does so too.

        Args:
            origin: where it comes from, such as ``the mail 18c2``; the user is shown it.
        """
        self.marks.append(Mark.of(MarkKind.OUTSIDE, origin))

    def mark_page(self, url: str) -> None:
        """Mark the result as a page or a list of links, which the model may follow without a question.

        Only for what the server sent, as it sent it: nothing in the result may come from the model.

        Args:
            url: of the page, which relative links are resolved against.
        """
        self.marks.append(Mark.of(MarkKind.PAGE, url))

    def mark_private(self, origin: str) -> None:
        """Mark the result as data of the user.

        Args:
            origin: where it comes from, such as ``the calendar of work``; the user is shown it.
        """
        self.marks.append(Mark.of(MarkKind.PRIVATE, origin))

    async def allow_url(self, url: str, sends: str = "") -> None:
        """Go on only if a tool that cannot use :attr:`http` may ask for a URL; before its host is looked up.

        Args:
            url: whole; with a fragment, which scripts of the page can read.
            sends: what else the model has composed that may go there, such as a script; empty for nothing.

        Raises:
            PermissionDeniedError: the user does not allow it.
        """
        await self._running.network.allow_url(url, sends)

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Tell the user how far the tool has come.

        Args:
            message: a few words.
            fraction: the part that is done, from 0 to 1.
        """
        self._running.progress(message, fraction)

    async def ask_permission(
        self,
        permission: str,
        detail: str = "",
        subject: str | None = None,
        directory: str | None = None,
        *,
        as_a_whole: bool = False,
    ) -> None:
        """Go on only if the user grants a permission that the arguments alone do not call for.

        Args:
            permission: a name such as ``network.private``.
            detail: what exactly the tool is about to do, shown to the user.
            subject: what it is needed for, such as a recipient, a host or a command: a lasting answer of the user
                holds for this alone.
            directory: the absolute path where it will be done, for what depends on that: a lasting answer holds there
                alone.
            as_a_whole: True if only a grant for all subjects is enough, not one for a pattern.

        Raises:
            PermissionDeniedError: it was not granted; let it pass, the executor answers the model.
        """
        questions = self._running.questions
        await questions.permission(permission, detail, subject, directory, as_a_whole=as_a_whole)

    async def is_granted(
        self, permission: str, subject: str, directory: str | None, sandbox: str, *, as_a_whole: bool = False
    ) -> bool:
        """Return True if a permission is granted already; if not, the tool must go on in a sandbox, or ask.

        What is decided is recorded, with the name of the sandbox.

        Args:
            permission: a name such as ``shell.execute``.
            subject: what it is needed for, such as a command.
            directory: the absolute path where it will be done.
            sandbox: the name of the sandbox; ``""`` if the tool will ask where nothing is decided.
            as_a_whole: True if only a grant for all subjects is enough, not one for a pattern.

        Raises:
            PermissionDeniedError: it is denied; let it pass, the executor answers the model.
        """
        if self._call is None:  # executed by hand, where nothing is asked
            return True
        questions = self._call.questions
        return await questions.is_granted(permission, subject, directory, sandbox, as_a_whole=as_a_whole)

    def ask_permission_sync(
        self, permission: str, detail: str = "", subject: str | None = None, directory: str | None = None
    ) -> None:
        """The same for a synchronous tool.

        Args:
            permission: as for :meth:`ask_permission`.
            detail: as for :meth:`ask_permission`.
            subject: as for :meth:`ask_permission`.
            directory: as for :meth:`ask_permission`.

        Raises:
            PermissionDeniedError: it was not granted; let it pass, the executor answers the model.
            OneClawError: an async tool called it.
        """
        questions = self._running.questions
        question = questions.permission(permission, detail, subject, directory)
        questions.in_thread("await context.ask_permission(...)", question)

    async def ask_user(
        self,
        question: str,
        choices: Iterable[str] = (),
        *,
        allows_text: bool = True,
        timeout_seconds: float | None = None,
    ) -> str | None:
        """Ask the user a question through the channel in use; the call's timeout stands still meanwhile.

        An answer in the user's own words counts as text of the user, so the result should hold nothing else.

        Args:
            question: 1 to 2,000 characters.
            choices: up to 10 answers of up to 200 characters.
            allows_text: True if the user may answer in other words than a choice.
            timeout_seconds: how long to wait for the answer; ``None`` for as long as it takes.

        Returns:
            The answer, which is one of the choices or other words; ``None`` if the user gives none.

        Raises:
            NobodyToAskError: no person can be asked here.
            TimeoutError: the time is up.
            UsageError: the question is too long, or has too many choices.
        """
        from oneclaw_core.types.user_question import UserQuestion

        asked = UserQuestion(question, tuple(choices), allows_text)
        return await self._running.questions.user(asked, timeout_seconds)

    async def ask_form(
        self, question: str, schema: Mapping[str, Any], *, name: str = "answer", timeout_seconds: float | None = None
    ) -> dict[str, Any] | None:
        """Ask the user for several values at once, where the channel in use shows forms.

        Args:
            question: 1 to 2,000 characters.
            schema: JSON Schema of the values: an object whose properties are texts, numbers, booleans and choices.
            name: by which a program that answers knows the form.
            timeout_seconds: as for :meth:`ask_user`.

        Returns:
            The values, which fit the schema; ``None`` if the user gives none that do.

        Raises:
            NobodyToAskError: no form can be shown here; :meth:`ask_user` may ask for one value after the other.
            TimeoutError: the time is up.
            ToolDefinitionError: the schema is none.
            UsageError: the question is too long.
        """
        from oneclaw_core.types.schema import check_parameters_schema
        from oneclaw_core.types.user_question import UserQuestion

        check_parameters_schema(self.tool_name, schema)
        asked = UserQuestion(question, form=schema, form_name=name)
        answer = await self._running.questions.user(asked, timeout_seconds)
        values: dict[str, Any] | None = json.loads(answer) if answer is not None else None
        return values

    async def readable(self, path: str | Path) -> Path:
        """Do what ``paths.readable`` does in a thread, so that the user can be asked; for async tools.

        Raises:
            PermissionDeniedError: the tool may not read there; let it pass, the executor answers the model.
        """
        return await _in_thread(lambda: self.paths.readable(path))

    async def writable(self, path: str | Path) -> Path:
        """Do what ``paths.writable`` does in a thread, so that the user can be asked; for async tools.

        Raises:
            PermissionDeniedError: the tool may not write there; let it pass, the executor answers the model.
        """
        return await _in_thread(lambda: self.paths.writable(path))

    async def trusts_start_directory(self, detail: str) -> bool:
        """Return True if the user trusts the start directory; ask for it, once, where a person can be asked.

        Args:
            detail: what exactly the tool is about to do there, shown to the user.
        """
        return await _in_thread(lambda: self.paths.asks_trust(detail))

    async def allow_address(self, host: str, address: str, port: int) -> None:
        """Go on only if the tool may connect to an address, for tools that cannot use :attr:`http`.

        Args:
            host: the name that was looked up, or an address.
            address: what it is; the connection must be made to this one.
            port: to connect to.

        Raises:
            PermissionDeniedError: the address is private, and the user does not allow it.
        """
        await self._running.network.allow_address(host, address, port)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run another tool on behalf of this call, as if the model had called it.

        The call passes the same checks and questions as any other. What it reads marks the result of this call too.
        The timeout of this call goes on, except while the user is asked.

        Args:
            name: of a tool that the agent may call now.
            arguments: JSON data.

        Returns:
            The result, also of a call that was refused or failed: ``permission_denied``, ``not_available``, ... It is
            whole, and not shortened for a model.

        Raises:
            OneClawError: this call has ended, or the tool runs in a worker process or was executed by hand.
        """
        return await self.inner_calls.call(name, arguments)

    def call_tool_sync(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The same for a synchronous tool.

        Args:
            name: as for :meth:`call_tool`.
            arguments: as for :meth:`call_tool`.

        Raises:
            OneClawError: as for :meth:`call_tool`, or an async tool called it.
        """
        questions = self._running.questions
        return questions.in_thread("await context.call_tool(...)", self.inner_calls.call(name, arguments))

    async def act_as(
        self,
        name: str,
        arguments: Mapping[str, Any],
        act: Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]],
        *,
        is_repeatable: bool = False,
    ) -> ToolResult:
        """Do what another tool does, in another form: the call is checked as one of that tool, then a function runs.

        Args:
            name: of the tool that does the same, such as ``http_request``.
            arguments: for that tool; those that are ``None`` are left out.
            act: called with the arguments, which plugins may have rewritten, and the context of the call.
            is_repeatable: True if this call can be repeated though the tool may change something.

        Returns:
            The result, as of :meth:`call_tool`.

        Raises:
            OneClawError: as for :meth:`call_tool`.
        """
        given = {each: value for each, value in arguments.items() if value is not None}
        if self._call is None or self._call.inner is None:  # executed by hand, where nothing is asked
            return await act(given, self)
        return await self.inner_calls.call(name, given, self._on_own_loop(act), is_repeatable=is_repeatable)

    @asynccontextmanager
    async def inner_call(self, tool: str, arguments: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Use :meth:`act_as` instead; this is deprecated.

        Args:
            tool: the tool that does the same.
            arguments: for that tool; those that are ``None`` are left out.

        Yields:
            The arguments to act with.

        Raises:
            PermissionDeniedError: it was refused.
        """
        import asyncio

        warnings.warn("use ToolContext.act_as in place of inner_call", DeprecationWarning, stacklevel=3)
        allowed: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        ended = asyncio.Event()

        async def act(given: dict[str, Any], context: ToolContext) -> ToolResult:
            allowed.set_result(given)
            await ended.wait()
            return ToolResult.success()

        call = asyncio.ensure_future(self.act_as(tool, arguments, act))
        try:
            waiting: tuple[asyncio.Future[Any], ...] = (call, allowed)
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not allowed.done():
                raise PermissionDeniedError(call.result().text(), tool)
            yield allowed.result()
        except BaseException:
            call.cancel()
            raise
        finally:
            ended.set()
            await asyncio.wait({call})

    def _on_own_loop(self, act: Act) -> Act:
        """Return a function that runs another one on the event loop of this tool."""

        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            result: ToolResult = await self.run_async(lambda: act(arguments, context))
            return result

        return run

    @property
    def inner_calls(self) -> ToolCalls:
        """Runs the calls that the tool makes; see :meth:`call_tool`.

        Raises:
            OneClawError: this call has ended, or the tool runs in a worker process or was executed by hand.
        """
        running = self._running
        running.questions.check_open()
        if running.inner is None:
            raise OneClawError(NOT_IN_A_RUNNING_CALL)
        return running.inner

    def send_message(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        attachments: Iterable[Attachment] = (),
        tool_groups: Iterable[str] | None = None,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run a turn on behalf of this call: within its tools and the limits of its turn.

        Args:
            text: the message.
            session: the session's name or id; ``None`` begins one.
            agent: the agent's name or id; by default the session's.
            model: ``PROVIDER/MODEL``; by default the agent's, else that of this turn.
            attachments: files for the model to look at.
            tool_groups: the only tool groups offered, loaded at once; ``None`` for all of the agent's.

        Yields:
            ``TurnFinishedEvent`` last.

        Raises:
            OneClawError: as for :meth:`oneclaw_core.OneClaw.send_message`.
        """
        return self.services.send_message(
            text,
            session=session,
            agent=agent,
            model=model,
            attachments=attachments,
            tool_groups=tool_groups,
            within=self,
        )

    async def kept_result(self, handle: str) -> KeptResult:
        """Return a whole earlier result that the model was shown a part of; its marks become marks of this call.

        Args:
            handle: such as ``r12``, of a result in this conversation or in that of an agent that this one works for.

        Raises:
            NotFoundError: there is none.
            OneClawError: the tool runs in a worker process, or was executed by hand.
        """
        sessions = self.services.sessions
        return await self._kept_result(sessions.kept_result, handle)

    def kept_result_sync(self, handle: str) -> KeptResult:
        """The same for a synchronous tool.

        Raises:
            NotFoundError: there is none.
            OneClawError: as for :meth:`kept_result`; or an async tool called it.
        """
        find = self.services.sessions.kept_result
        return self._running.questions.in_thread("await context.kept_result(...)", self._kept_result(find, handle))

    async def _kept_result(self, find: FindResult, handle: str) -> KeptResult:
        session_id, turn = self.session_id, self.turn
        while session_id is not None:
            message = await find(session_id, handle)
            if message is not None:
                # A part of a page is no page any more, and nothing in it is an answer that the user gives now.
                marks = [each.passed_on() for each in message.marks if each.kind is not MarkKind.USER]
                self.marks += marks
                self.conversation.add(marks)  # before the value gets anywhere
                return KeptResult.of(message)
            outer = turn.call if turn is not None else None
            session_id, turn = (outer.session_id, outer.turn) if outer is not None else (None, None)
        raise NotFoundError(f"this conversation has no long result {handle!r}")

    async def record_writes(self) -> None:
        """Note that what the call has started wrote its files until now; for what goes on after the call has ended."""
        if self._call is not None and self._call.provenance is not None:
            await self._call.questions.loop.run(self._call.provenance.finish())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the call's timeout stand still, because the user is being asked something on its behalf."""
        with self._running.clock.paused():
            yield

    def asked_seconds(self) -> float:
        """Return the seconds that questions to the user took during this call.

        The tool's timeout does not count it; a tool with its own deadline should not either.
        """
        return self._running.clock.asked_seconds()

    def remaining_seconds(self) -> float:
        """Return the seconds until the timeout of the tool; infinite while the user is asked.

        A tool that changes something elsewhere stops waiting before that, to say what may have been done.
        """
        left = self._running.clock.remaining_seconds()
        return math.inf if left is None else left

    def without_services(self, granted: Iterable[str] = ()) -> ToolContext:
        """A copy that can be sent to a worker process; only its data and ``paths`` work there.

        Args:
            granted: what the user has granted to the call, as ``PERMISSION:PATH``.
        """
        return ToolContext(
            self.home,
            self.session_id,
            self.agent_name,
            self.tool_name,
            self.call_id,
            self.paths.for_other_process(granted),
            selection=self.selection,
            shown_characters=self.shown_characters,
        )

    @property
    def _running(self) -> RunningCall:
        if self._call is None:
            raise OneClawError(NOT_IN_A_RUNNING_CALL)
        return self._call


def detached_context(tool_name: str) -> ToolContext:
    """Make a context for a tool that is executed by hand: its data and ``paths`` work, its services do not."""
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.system.home import find_home

    home = find_home()
    return ToolContext(
        home.path, None, "", tool_name, uuid.uuid4().hex, PathGuard(home.workspace, Path.cwd(), home.path)
    )


# How many tool calls deep a turn may be run within others.
MAX_TURN_DEPTH = 2


@dataclass(frozen=True, slots=True)
class TurnScope:
    """A running turn, as its tool calls see it. All calls of the turn share one.

    Attributes:
        budget: what it may still take.
        call: the tool call that it is run for, ``None`` for a turn of the user's.
        model: the model that answers it, as ``PROVIDER/MODEL``, or the object that a program gave.
        info: the turn as plugins see it; ``None`` if no plugin asks.
        reasoning: how much that model is to think, ``None`` for the service's own.
        task: the scheduled task that it is run for; ``None`` for a turn of the user's.
        session_name: the name of its session, ``None`` for one without.
        shown_characters: how much of a result the model is shown, ``None`` for all of it.
        views: what the conversation has seen of files; the calls add to it.
        deps: what its tools get of the program; ``None`` for what the home was opened with.
        scripts: what the scripts of the turn may do.
    """

    budget: TurnBudget
    call: ToolContext | None = None
    model: object = None
    info: TurnInfo | None = None
    reasoning: ReasoningLevel | None = None
    task: str | None = None
    session_name: str | None = None
    shown_characters: int | None = None
    views: FileViews = field(default_factory=FileViews)
    deps: object = None
    scripts: ScriptAllowance = field(default_factory=ScriptAllowance)

    @property
    def depth(self) -> int:
        """The number of tool calls around the current one: 0 for a turn of the user."""
        return 0 if self.call is None else depth_within(self.call)

    def permission_session(self, session_id: str | None) -> str | None:
        """The session that the user's answers are for: that of the outermost turn."""
        if self.call is None:
            return session_id
        outer = self.call.turn
        return self.call.session_id if outer is None else outer.permission_session(self.call.session_id)

    def sub_agent(self, agent: str) -> str | None:
        """Return what a sub-agent is called in a question, ``None`` for an agent that the user talks with."""
        if self.call is None:
            return None
        return agent if self.session_name is None else f"{self.session_name} ({agent})"

    def outer_agents(self) -> tuple[str, ...]:
        """Return the agents of the turns that this one is run within, the next one first."""
        if self.call is None:
            return ()
        return (self.call.agent_name, *(self.call.turn.outer_agents() if self.call.turn is not None else ()))

    @contextmanager
    def outer_calls_paused(self) -> Iterator[None]:
        """Keep the time in which the user is asked from counting against the calls that the turn is run within."""
        with ExitStack() as pauses:
            call = self.call
            while call is not None:
                pauses.enter_context(call.paused())
                call = call.turn.call if call.turn is not None else None
            yield


def depth_within(call: ToolContext) -> int:
    """Return the depth of a turn that is run for a call: 1 if the user or the user's turn made the call."""
    return 1 if call.turn is None else call.turn.depth + 1
