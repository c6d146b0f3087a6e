"""A throw-away home that a test works in, without writing anything async."""

from __future__ import annotations

import asyncio
import inspect
import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oneclaw_core.app import OneClaw
from oneclaw_core.config.providers import MODEL_SETTING, PROVIDER_SETTING
from oneclaw_core.errors import OneClawError, ToolDefinitionError
from oneclaw_core.installation.given_plugins import given_plugin
from oneclaw_core.json_schema.valid import result_faults
from oneclaw_core.manifests.manifest import ManifestTool
from oneclaw_core.plugins.first_use import LazyTool
from oneclaw_core.system.home import find_home
from oneclaw_core.testing.scripted import MODEL, PROVIDER, ScriptedModel, ScriptedModelPlugin, ScriptedUser
from oneclaw_core.tool_functions.function import FunctionTool
from oneclaw_core.types.tools import ToolDefinition, ToolSourceInfo, ToolSourceType
from pytest_oneclaw.assertions import CalledTool, TurnRecord
from pytest_oneclaw.chosen_plugins import SCRIPTED_MODEL_PLUGIN, check_plugins, chosen_plugins
from pytest_oneclaw.hook_events import call_hook

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.providers import ModelObject
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tools import Tool, ToolResult


def tool_name(tool: Tool | object, registry: ToolRegistry) -> str:
    """Find the name under which a tool is registered.

    Args:
        tool: a name, a function with ``@tool``, a ``Tool`` object, or the function that a manifest names.
        registry: the tools there are; a tool that is none of them is registered.

    Raises:
        ToolDefinitionError: it is not a tool.
        DuplicateToolError: another tool has its name.
    """
    if isinstance(tool, str):
        return tool
    for name in registry.get_all_tool_names():
        registered = registry.get_tool(name)
        if registered is tool or _runs(registered, tool):
            return name
    definition = getattr(tool, "definition", None)
    if not isinstance(definition, ToolDefinition):
        raise ToolDefinitionError(
            f"{tool!r} is not a tool: give its name, decorate it with @tool, or name it in the manifest of a plugin "
            "that is loaded in this test (see the fixture oneclaw_plugins)"
        )
    registry.register(tool, ToolSourceInfo(ToolSourceType.PLUGIN, plugin="test"))  # type: ignore[arg-type]  # it checks
    return definition.name


def _runs(registered: Tool | None, function: object) -> bool:
    place = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"
    if isinstance(registered, ManifestTool):
        return f"{registered.target.module}:{registered.target.attribute}" == place
    if not isinstance(registered, LazyTool):
        return False
    if registered.registration.target is not None:
        return registered.registration.target == place
    # Registered by an installed plugin that is not imported yet.
    return isinstance(function, FunctionTool) and registered.name == function.name


SESSION = "test"

_Value = TypeVar("_Value")


class CallTool(Protocol):
    """The fixture ``call_tool``: :meth:`HomeUnderTest.call_tool`."""

    def __call__(self, tool: object, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> ToolResult:
        """Run a tool through the executor."""
        ...


class HomeFactory(Protocol):
    """The fixture ``oneclaw_factory``: makes homes that are closed when the test ends."""

    def __call__(
        self,
        plugins: Iterable[object] | None = None,
        *,
        home: Path | None = None,
        allow: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        check_plugins: bool = True,
    ) -> HomeUnderTest:
        """Make a home; the arguments are those of :class:`HomeUnderTest`."""
        ...


class HomeUnderTest:
    """OneClaw in a home of the test's own; opened when first used, closed when the test ends.

    Args:
        home: the home's directory.
        project: the directory in which OneClaw is started, whose files tools may read.
        plugins: what to load beside the built-in tools: names of installed plugins, modules or objects with hooks;
            ``None`` for everything that is installed.
        allow: permissions that are granted from the start.
        environ: what OneClaw sees of the environment; by default nothing.
        check_plugins: fail if one of the plugins is broken.

    Attributes:
        home: where everything lies, such as ``home.workspace``.
        project: the directory in which OneClaw was started.
        user: answers questions for permissions.
        model: answers messages, once it has a script.
        tool_calls: everything that was called so far, by the test or by a model.
        loaded_groups: every tool group that was loaded so far.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        plugins: Iterable[object] | None = None,
        *,
        allow: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        check_plugins: bool = True,
    ) -> None:
        self._environ = dict(environ or {})
        self.home = find_home(self._environ, home)
        self.project = project
        self.user = ScriptedUser()
        self.model = ScriptedModel()
        self.tool_calls: list[CalledTool] = []
        self.loaded_groups: list[str] = []
        self._plugins = plugins if plugins is None or isinstance(plugins, str) else tuple(plugins)
        self._allow = tuple(allow)
        self._checks_plugins = check_plugins
        self._runner: asyncio.Runner | None = None
        self._stack = AsyncExitStack()
        self._app: OneClaw | None = None

    @property
    def app(self) -> OneClaw:
        """The open home itself, for what is not offered here; its async functions run in :meth:`run`."""
        __tracebackhide__ = True
        if self._app is None:
            self._app = self._run(self._stack.enter_async_context(self.opened()))
        return self._app

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[OneClaw, None]:
        """Open the home in an async test: ``async with oneclaw.opened() as app``.

        Raises:
            AssertionError: one of the plugins is broken.
        """
        __tracebackhide__ = True
        points = [*chosen_plugins(self._plugins), given_plugin(ScriptedModelPlugin(self.model), SCRIPTED_MODEL_PLUGIN)]
        async with OneClaw.open(
            self.home.path,
            ask=self.user.answer,
            ask_user=self.user.reply,
            allow=self._allow,
            environ=self._environ,
            start_directory=self.project,
            plugins=points,
        ) as app:
            if self._checks_plugins:
                check_plugins(app.catalog.plugins)
            await app.store.set_setting(PROVIDER_SETTING + PROVIDER, {"type": PROVIDER})
            # Without a price, the known ones would be searched for it.
            await app.store.set_setting(MODEL_SETTING + MODEL, {"input_price": 0, "output_price": 0})
            yield app

    def run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """Run something async in the open home, such as ``oneclaw.run(oneclaw.app.settings())``.

        Returns:
            What it returns.
        """
        __tracebackhide__ = True
        return self._run(coroutine)

    def call_tool(self, tool: object, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> ToolResult:
        """Run a tool through the executor: with its checks, permissions and timeout. Tools of all groups are active.

        Args:
            tool: its name, its function, or the function that a manifest names. A tool that no plugin registers is
                registered for this test.
            arguments: a JSON object, or any text in place of it.
            named: more arguments.

        Returns:
            What the model would be answered.
        """
        __tracebackhide__ = True
        if isinstance(arguments, str):
            if named:
                raise ValueError("the arguments are either a text or named, not both")
            text = arguments
        else:
            text = json.dumps({**(arguments or {}), **named}, ensure_ascii=False)
        app = self.app
        outcome = self._run(app.call_tool(tool_name(tool, app.catalog.registry), text))
        self.tool_calls.append(CalledTool(outcome.call.name, _read(text), outcome.result))
        self._check_script()
        self._check_results(self.tool_calls[-1:])
        return outcome.result

    def call_hook(self, hook: str, /, **arguments: Any) -> Any:
        """Call an event hook of the plugins, with their order, time limits and isolation.

        ::

            assert oneclaw.call_hook("before_tool_call", call=made_call("exec", {"command": "sudo ls"})) == Deny(...)

        Args:
            hook: its name; no registration or lifecycle hook.
            arguments: of the hook, without the context, from ``made_call``, ``made_turn`` and the like.

        Returns:
            See :func:`pytest_oneclaw.hook_events.call_hook`.
        """
        __tracebackhide__ = True
        return self._run(call_hook(self.app.plugins, hook, **arguments))

    def send(
        self, text: str, *, session: str | None = SESSION, model: str | ModelObject | None = None, **options: Any
    ) -> TurnRecord:
        """Send a message and wait for the final answer.

        Args:
            text: the message.
            session: messages of one session are one conversation; ``None`` for a new one.
            model: ``PROVIDER/MODEL``, or a model object such as ``recorded_model``; by default the scripted model if it
                has a script, else ``offline/rules``.
            options: as for ``OneClaw.send_message``.

        Returns:
            All that happened.

        Raises:
            AssertionError: the scripted model had no answer left.
            OneClawError: the turn could not be finished.
        """
        __tracebackhide__ = True
        chosen = model or (MODEL if self.model.has_script else None)
        app = self.app
        try:
            record = self._run(TurnRecord.collect(app.send_message(text, session=session, model=chosen, **options)))
        except OneClawError:
            self._check_script()
            raise
        self._check_script()
        self._check_results(record.tool_calls)
        self.tool_calls += record.tool_calls
        self.loaded_groups += record.loaded_groups
        return record

    def reopen(self) -> None:
        """Close the home; what is used next opens it again, as another process would."""
        if self._app is not None:
            stack, self._stack, self._app = self._stack, AsyncExitStack(), None
            self._run(stack.aclose())

    def close(self) -> None:
        """Close the home permanently."""
        runner = self._runner
        if runner is None:
            return
        try:
            self.reopen()
        finally:
            self._runner = None
            runner.close()

    def check_model_is_done(self) -> None:
        """Fail if the scripted model has answers that were not asked for, or was asked for more than it has."""
        __tracebackhide__ = True
        self._check_script()
        unused = self.model.unused
        if unused:
            lines = "".join(f"\n  {answer}" for answer in unused)
            raise AssertionError(f"the scripted model was not asked for the last {len(unused)} of its answers:{lines}")

    def _check_results(self, calls: Iterable[CalledTool]) -> None:
        """Fail if a result does not fit the schema that its tool declares."""
        __tracebackhide__ = True
        for call in calls:
            found = self.app.catalog.registry.find(call.name)
            if found is None or found.source.is_foreign:
                continue
            if faults := result_faults(found.definition, call.result):
                raise AssertionError(f"the result of {call.name} does not fit its output_schema: {'; '.join(faults)}")

    def _check_script(self) -> None:
        __tracebackhide__ = True
        if self.model.faults:
            # The turn's own error says the same with a longer traceback.
            raise AssertionError(self.model.faults[0]) from None

    def _run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        __tracebackhide__ = True
        if _is_in_event_loop():
            if inspect.iscoroutine(coroutine):
                coroutine.close()
            raise OneClawError(
                "this is an async test, which has to open the home itself: async with oneclaw.opened() as app"
            )
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(coroutine)


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or nested beyond measure
        return text
