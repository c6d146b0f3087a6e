"""Services of plugins side by side: a failed one is started again, all are stopped in bounded time.

A supervisor that started the program, such as systemd, is told when they run, and that they still do.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import socket
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import OneClawError, PluginError, SettingsError, describe_error
from oneclaw_core.services.context import ServiceContext, ServiceHost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, MutableMapping

    from oneclaw_core.app import OneClaw
    from oneclaw_core.plugins.plugin import Registration


class ServiceChange(StrEnum):
    """A change of a service."""

    STARTED = "started"
    READY = "ready"
    SHOWS = "shows"
    FAILED = "failed"
    ENDED = "ended"
    LEFT = "left"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ServiceNews:
    """A change of a service.

    Attributes:
        change: which.
        service: the name of the service.
        plugin: the name of its plugin.
        text: for the user: of a service that is ready, such as an address; of one that failed, why and what follows;
            of one that is off, what turns it on.
    """

    change: ServiceChange
    service: str
    plugin: str
    text: str = ""

    def __str__(self) -> str:
        what = f"{self.service} of plugin {self.plugin}"
        return {
            ServiceChange.STARTED: f"{what} starts" + (f": {self.text}" if self.text else ""),
            ServiceChange.READY: f"{what} is ready" + (f": {self.text}" if self.text else ""),
            ServiceChange.SHOWS: self.text,
            ServiceChange.FAILED: f"{what} failed ({self.text})",
            ServiceChange.ENDED: f"{what} has ended",
            ServiceChange.LEFT: f"{what} did not stop and was left to itself",
            ServiceChange.OFF: f"{what} is off; turn it on with: {self.text}",
        }[self.change]


SERVICE_HOOK = "register_services"
_SETTLED = (ServiceChange.READY, ServiceChange.FAILED, ServiceChange.ENDED, ServiceChange.OFF)
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 60.0
"""A service that has worked for so long is started again without a longer pause."""
CLEAN_UP_SECONDS = 10.0
"""The time that a cancelled service has to clean up before it is abandoned."""

_log = logging.getLogger("oneclaw.services")


class ServiceManager:
    """Runs services.

    Args:
        claw: the open home.
        services: registrations of the services to run.
        runs_in: where they run.
        report: called with what becomes known of them.
        options: values of the options that plugins have registered for ``oneclaw serve``, by plugin.

    Attributes:
        settled: set when each service is ready, has ended, has failed or is off.
    """

    def __init__(
        self,
        claw: OneClaw,
        services: Iterable[Registration],
        runs_in: Literal["serve", "chat"],
        report: Callable[[ServiceNews], None],
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._claw = claw
        self._services = list(services)
        self._runs_in = runs_in
        self._report = report
        self._options = options or {}
        self._stopping = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], Registration] = {}
        self.settled = asyncio.Event()
        self._unsettled = {_key(each) for each in self._services}
        self._were_ready: set[tuple[str, str]] = set()
        self._refused = asyncio.get_running_loop().create_future()

    @property
    def are_left(self) -> bool:
        """True if a service goes on although it was stopped."""
        return self._stopping.is_set() and not all(task.done() for task in self._tasks)

    async def run(self, stop: asyncio.Event) -> None:
        """Run all services until the event is set, all have ended or one cannot start, then stop them.

        Raises:
            SettingsError: a service cannot start until the user changes a setting, such as a port.
        """
        async with self.running():
            stopped = asyncio.create_task(stop.wait())
            ended = asyncio.create_task(asyncio.wait(self._tasks)) if self._tasks else stopped
            try:
                await asyncio.wait({stopped, ended, self._refused}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopped.cancel()
                ended.cancel()
        if self._refused.done():
            self._refused.result()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Run all services until the end of the block."""
        for registration in self._services:
            task = asyncio.create_task(self._keep_running(registration), name=f"service {registration.name}")
            self._tasks[task] = registration
        try:
            yield
        finally:
            await self._stop()

    async def _stop(self) -> None:
        self._stopping.set()
        await asyncio.gather(*(self._stop_one(task, each) for task, each in self._tasks.items()))

    async def _stop_one(self, task: asyncio.Task[None], registration: Registration) -> None:
        grace_seconds = float(registration.options.get("grace_seconds") or 0)
        if grace_seconds and not task.done():
            await asyncio.wait({task}, timeout=grace_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
        if not task.done():
            self._tell(ServiceChange.LEFT, registration)

    async def _keep_running(self, registration: Registration) -> None:
        """Run a service, and start it again when it fails."""
        command = await self._command_to_turn_on(registration)
        if command is not None:
            self._tell(ServiceChange.OFF, registration, command)
            return
        self._tell(ServiceChange.STARTED, registration, str(registration.options.get("help") or ""))
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                await self._run_once(registration)
            except GeneratorExit:
                raise
            except BaseException as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                if isinstance(error, SettingsError) and _key(registration) not in self._were_ready:
                    self._refuse(registration, error)
                    return
                if self._stopping.is_set():
                    _log.warning("%s failed while it stopped: %s", registration.name, describe_error(error))
                    return
                if time.monotonic() - begun >= STEADY_SECONDS:
                    pause = FIRST_PAUSE_SECONDS
                _log.error("the service %s of %s failed", registration.name, registration.plugin, exc_info=error)
                cause = str(error) if isinstance(error, PluginError) else describe_error(error)
                self._tell(ServiceChange.FAILED, registration, f"{cause}; it is started again in {pause:g} s")
            else:
                self._tell(ServiceChange.ENDED, registration)
                return
            try:
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            except TimeoutError:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _refuse(self, registration: Registration, error: SettingsError) -> None:
        """Take note that a service cannot start. Another try is of no use before the user has done something."""
        _log.error("the service %s of %s cannot start: %s", registration.name, registration.plugin, error)
        if self._runs_in == "chat":
            self._tell(ServiceChange.FAILED, registration, str(error))
        elif not self._refused.done():
            self._refused.set_exception(error)
            self._refused.exception()  # raised by run(), if that is used

    async def _command_to_turn_on(self, registration: Registration) -> str | None:
        """Return the command that turns a service on; ``None`` if it is on."""
        needs = registration.options.get("needs")
        if needs is None:
            return None
        try:
            value = getattr((await self._claw.plugins.context_of(registration.plugin)).settings, needs)
        except OneClawError:
            return None  # the service meets the same error
        key = f"{registration.plugin}.{needs}"
        if value:
            return None
        return f"oneclaw keys set {key}" if hasattr(value, "get_secret_value") else f"oneclaw config set {key} VALUE"

    async def _run_once(self, registration: Registration) -> None:
        plugin = await self._claw.plugins.context_of(registration.plugin)
        target = await self._claw.plugins.object_of(registration)
        options = self._options.get(registration.plugin, {})
        host = ServiceHost(
            self._claw,
            lambda _, text: self._tell(ServiceChange.SHOWS, registration, text),
            lambda _, detail: self._tell(ServiceChange.READY, registration, detail),
        )
        context = ServiceContext(plugin, host, registration.name, self._runs_in, options, self._stopping)
        work = target(context)
        if not inspect.isawaitable(work):
            raise PluginError(f"{registration.target or target!r} is not an async function")
        await work

    def _tell(self, change: ServiceChange, registration: Registration, text: str = "") -> None:
        if change is ServiceChange.READY:
            self._were_ready.add(_key(registration))
        if change in _SETTLED:
            self._unsettled.discard(_key(registration))
            if not self._unsettled:
                self.settled.set()
        self._report(ServiceNews(change, registration.name, registration.plugin, text))


def _key(registration: Registration) -> tuple[str, str]:
    return registration.plugin, registration.name


@asynccontextmanager
async def chat_services(claw: OneClaw, show: Callable[[str], None]) -> AsyncGenerator[None, None]:
    """Run the services that belong to a chat until the end of the block.

    Args:
        claw: the open home.
        show: gets what they show to the user, and which of them failed.
    """
    services = [each for each in claw.plugins.registrations(SERVICE_HOOK) if "chat" in each.options["runs_in"]]
    if not services:
        yield
        return

    def report(news: ServiceNews) -> None:
        if news.change in (ServiceChange.SHOWS, ServiceChange.FAILED, ServiceChange.LEFT):
            show(str(news))

    async with ServiceManager(claw, services, "chat", report).running():
        yield


READY_SECONDS = 30.0
"""The longest time until the program counts as ready, since a service may never say that it is."""
_SOCKET, _INTERVAL, _PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


class Supervisor:
    """The supervisor that started the program, such as systemd; without one, all methods do nothing.

    The protocol is that of ``sd_notify(3)``: datagrams to the socket that ``NOTIFY_SOCKET`` names.

    Args:
        environ: the environment. The variables of the supervisor are taken from it, since they are for this process
            alone.
    """

    def __init__(self, environ: MutableMapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self._address = environ.pop(_SOCKET, "")
        interval, process = environ.pop(_INTERVAL, ""), environ.pop(_PID, "")
        is_for_us = interval.isdecimal() and process in ("", str(os.getpid()))
        self._interval_seconds = int(interval) / 1_000_000 if is_for_us else None

    @asynccontextmanager
    async def watching(self, ready: asyncio.Event) -> AsyncGenerator[None, None]:
        """Say that the program is ready, that its event loop runs, and at the end of the block that it stops.

        Args:
            ready: set when the services work, such as when a server listens.
        """
        task = asyncio.create_task(self._keep_alive(), name="supervisor")
        telling = asyncio.create_task(self._tell_ready(ready), name="supervisor: ready")
        try:
            yield
        finally:
            task.cancel()
            telling.cancel()
            self._send("STOPPING=1")

    async def _tell_ready(self, ready: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await ready.wait()
        self._send("READY=1")

    async def _keep_alive(self) -> None:
        while self._address and self._interval_seconds:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self._interval_seconds / 3)

    def _send(self, text: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is in Linux's abstract namespace.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
                sending.setblocking(False)
                sending.sendto(text.encode(), address)
        except OSError as error:
            _log.warning("the supervisor was not reached: %s", error)
