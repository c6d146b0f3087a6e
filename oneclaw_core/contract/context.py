"""Contexts: the narrow services that a plugin's hooks, tools, services and chat commands get."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.capabilities.declaration import Declaration, declared_services
from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.http.clients import GuardedClients
from oneclaw_core.system.loops import Worker, is_worker_thread, run_on
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from pathlib import Path

    import httpx

    from oneclaw_core.config.keys import PluginSecrets
    from oneclaw_core.config.settings import CurrentSettings
    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.http.addresses import AddressGate
    from oneclaw_core.http.oauth.accounts import OAuthService
    from oneclaw_core.http.oauth.client import OAuthClient
    from oneclaw_core.sessions.plugin_storage import PluginStorage


_Made = TypeVar("_Made")

END_SECONDS = 5.0
NO_HOME = "this service of PluginContext is there only in an open home"

_log = logging.getLogger("oneclaw.plugins")


class PluginContext:
    """Services of one plugin: the same object for each of its hooks while a home is open.

    Attributes:
        name: of the plugin.
        secrets: of the plugin, in the user's secret store.
        logger: writes to the log in the home, under the plugin's name.
        declaration: what the plugin may do of what its ``capabilities.json`` names; ``None`` where nothing holds it.
        worker: the event loop of the plugin's async tools and hooks; ``None`` if they run on that of the program.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        allow_address: AddressGate,
        *,
        secrets: PluginSecrets,
        settings: CurrentSettings | None = None,
        storage: PluginStorage | None = None,
        locks: Path | None = None,
        ask_model: Callable[[str, Mapping[str, Any] | None], Awaitable[Any]] | None = None,
        services: HomeServices | None = None,
        declaration: Declaration | None = None,
    ) -> None:
        self.name = name
        self.declaration = declaration
        self._locks = locks
        self._ask_model = ask_model
        self._services = services
        self._made: dict[Callable[..., Any], Any] = {}
        self._making = threading.Lock()
        self.secrets = secrets
        self._settings = settings
        self._storage = storage
        self.logger = logging.getLogger(f"oneclaw.plugin.{name}")
        self._folder = folder
        self._allow_address = allow_address
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.get_running_loop()
        held = () if declaration is None else (_anywhere, self._allow_request)
        self._clients = GuardedClients(self._loop, self._wait_for, self._ask_for, *held)
        self.worker: Worker | None = None

    @property
    def settings(self) -> Any:
        """The current instance of the model that the plugin registered with ``register_settings``.

        Raises:
            SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
            PluginError: the plugin registered no settings.
        """
        if self._settings is None:
            raise PluginError(f"plugin {self.name} registered no settings")
        return self._settings.current

    async def refresh_settings(self, stored: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Read the settings again; return the names of the fields that changed.

        Args:
            stored: values from the store, by key, if they are at hand.
        """
        return await self._settings.refresh(stored) if self._settings is not None else frozenset()

    @property
    def storage(self) -> PluginStorage:
        """The plugin's values and tables in OneClaw's database."""
        if self._storage is None:
            raise PluginError(f"plugin {self.name} has no storage here")
        return self._storage

    @property
    def services(self) -> HomeServices:
        """Services of the open home: its directories, tools, sessions and the like.

        Raises:
            PluginError: there is no open home, as in a test without one.
        """
        if self._services is None:
            raise PluginError(NO_HOME)
        services = self._services.for_other_loop() if is_worker_thread() else self._services
        return declared_services(services, self.declaration)

    def once(self, make: Callable[[PluginContext], _Made]) -> _Made:
        """Return what ``make(context)`` returned at its first use; for objects to keep as long as the home is open.

        Args:
            make: a function of a module; called once, also by threads.
        """
        with self._making:
            if make not in self._made:
                self._made[make] = make(self)
            made: _Made = self._made[make]
        return made

    @property
    def folder(self) -> Path:
        """A directory in the home for the plugin's files, made when it is first asked for."""
        make_private_directory(self._folder)
        return self._folder

    def oauth(self, service: OAuthService) -> OAuthClient:
        """Return a client that signs users in to a service; sign-ins are stored in the plugin's folder.

        Args:
            service: what to sign in to.
        """
        from oneclaw_core.http.oauth.accounts import OAuthAccounts
        from oneclaw_core.http.oauth.client import OAuthClient

        return OAuthClient(service, OAuthAccounts(service, self._folder / service.name, self._locks))

    async def ask_model(self, prompt: str, schema: Mapping[str, Any] | None = None) -> Any:
        """Ask the user's default model; what it costs is accounted to the plugin, in a session of its name.

        Args:
            prompt: the question.
            schema: JSON Schema of the answer; ``None`` for text.

        Returns:
            The answer's text; with a schema, the JSON data in it.

        Raises:
            ProviderError: the model could not be asked, or did not answer by the schema.
            SpendingLimitError: a limit of the day is reached.
            PluginError: there is no open home, as in a test without one.
        """
        if self._ask_model is None:
            raise PluginError(NO_HOME)
        return await self._at_home(self._ask_model(prompt, schema))

    @property
    def http(self) -> httpx.AsyncClient:
        """An HTTP client that refuses private addresses unless the user grants ``network.private``."""
        return self._clients.of_loop()

    @property
    def sync_http(self) -> httpx.Client:
        """The same for code that runs in a thread."""
        return self._clients.of_threads()

    def start_task(self, coroutine: Coroutine[Any, Any, Any], *, name: str = "") -> asyncio.Task[Any]:
        """Run a coroutine in the background until it ends or the plugin stops.

        Args:
            coroutine: what to run; an exception is logged.
            name: for the log.
        """
        loop = asyncio.get_running_loop()  # that of the plugin, or of the program
        work = self._without_exit(coroutine)
        task = loop.create_task(work, name=f"{self.name}: {name}", context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        # One that is cancelled before it begins would be reported as never awaited.
        task.add_done_callback(lambda _: coroutine.close())
        return task

    async def aclose(self) -> None:
        """End the plugin's tasks and close its clients."""
        tasks = [task for task in self._tasks if task.get_loop() is self._loop]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=END_SECONDS)
        await self._clients.aclose(self.worker)
        if self.worker is not None:
            await self.worker.aclose()  # and so the other tasks

    async def _at_home(self, work: Awaitable[_Made]) -> _Made:
        """Await something on the event loop of the home, from any event loop."""
        return await run_on(self._loop, _awaited(work))

    async def _ask_for(self, host: str, address: str, port: int) -> None:
        await self._at_home(self._allow_address(host, address, port))

    async def _allow_request(self, request: httpx.Request) -> None:
        if self.declaration is not None:
            self.declaration.require_host(request.url.host)

    def _wait_for(self, work: Coroutine[Any, Any, _Made]) -> _Made:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _without_exit(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Await a coroutine; what would end the event loop, and all with it, is an error of the plugin."""
        try:
            return await coroutine
        except (KeyboardInterrupt, SystemExit) as error:
            raise PluginError(f"plugin {self.name}: a task raised {describe_error(error)}") from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.logger.warning("plugin %s: a task of it failed: %s", self.name, describe_error(error), exc_info=error)


async def _awaited(work: Awaitable[_Made]) -> _Made:
    return await work


async def _anywhere(host: str, address: str, port: int) -> None:
    """Allow every public address; hosts are held by requests."""
