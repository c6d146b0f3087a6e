"""``oneclaw serve``: the services of plugins, until a signal stops them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog, not_found
from oneclaw_core.cli.command_group import CommandGroup, PluginCommand, make_option
from oneclaw_core.cli.log_file import MAX_FILE_BYTES
from oneclaw_core.cli.options import allow_option, open_allowing
from oneclaw_core.cli.output import json_option, print_listing, printable_line
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.plugins.distributions import OUR_DISTRIBUTIONS
from oneclaw_core.plugins.names.claims import SHORT_NAME_TAKEN
from oneclaw_core.services.manager import SERVICE_HOOK, ServiceManager, ServiceNews, Supervisor
from oneclaw_core.sessions.locks import remove_unheld
from oneclaw_core.shipped.missing import install_command
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping
    from pathlib import Path

    from oneclaw_core.plugins.plugin import Plugin, Registration
    from oneclaw_core.system.home import Home

STOP_SECONDS = 75.0
"""The time limit for stopping all services; after it the program ends itself."""
UPKEEP_SECONDS = 3_600.0


class ServeCommand(CommandGroup):
    """``oneclaw serve`` with the options and subcommands of plugins."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of plugins behind OneClaw's own."""
        if ctx.command is not self and ctx.parent is not None:
            # Of a subcommand, whose usage begins with our arguments.
            ctx = ctx.parent
        own = super().get_params(ctx)
        return [*own[:-1], *(make_option(each) for each in _options(ctx)), *own[-1:]]


def _options(context: click.Context) -> list[PluginCommand]:
    assert isinstance(context.command, ServeCommand)
    return [each for each in context.command.of_plugins(context).values() if each.is_option]


def _options_by_plugin(context: click.Context, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sort the values of options by the plugins that registered them."""
    values: dict[str, dict[str, Any]] = {}
    for each in _options(context):
        name = str(make_option(each).name)
        values.setdefault(each.record.name, {})[name] = given.get(name)
    return values


@click.group(cls=ServeCommand, invoke_without_command=True, subcommand_metavar="[COMMAND [ARGS]...]")
@click.option("--only", metavar="NAME", multiple=True, help="Run only this service; may be repeated.")
@click.option("--list", "is_list", is_flag=True, help="List the services instead of running them.")
@json_option
@allow_option
@click.pass_context
def serve(
    context: click.Context, /, only: tuple[str, ...], is_list: bool, as_json: bool, allow: tuple[str, ...], **given: Any
) -> None:
    """Run the services of plugins, such as the worker for scheduled tasks, until Ctrl-C or SIGTERM.

    Messages go to standard error. A service that fails is started again. One that cannot start, for example because its
    port is in use, ends the command with an error. Questions for permissions go to the person who sent the message. If
    no person can be reached, what is not granted is denied.
    """
    if context.invoked_subcommand is not None:
        return
    records = load_catalog().plugins
    if is_list:
        _print_services(records, as_json=as_json)
        return
    if as_json:
        raise UsageError("--json goes with --list")
    chosen = _chosen(_services(records), only)
    if not chosen:
        command = install_command(OUR_DISTRIBUTIONS["scheduled_tasks"])
        raise OneClawError(f"nothing to run: no installed plugin has a service. Plugins bring some, such as: {command}")
    names = {(each.plugin, each.name) for each in chosen}
    with _signals() as stop:
        asyncio.run(_serve(names, allow, _options_by_plugin(context, given), stop))


def _services(records: list[Plugin]) -> list[Registration]:
    found = (each for record in records for each in record.registrations if each.hook == SERVICE_HOOK)
    return [each for each in found if "serve" in each.options["runs_in"]]


def _chosen(services: list[Registration], only: tuple[str, ...]) -> list[Registration]:
    names = [(each, _names_of(each)) for each in services]
    known = {name for _, own in names for name in own}
    for name in only:
        if name not in known:
            raise not_found("service", name, known, "oneclaw serve --list")
    return [each for each, own in names if not only or own & set(only)]


def _names_of(service: Registration) -> set[str]:
    full = f"{service.plugin}.{service.name}"
    return {full} if service.options.get(SHORT_NAME_TAKEN) else {full, service.name}


def _print_services(records: list[Plugin], *, as_json: bool) -> None:
    documents = [
        {"name": each.name, "plugin": each.plugin, "help": each.options["help"], "runs_in": each.options["runs_in"]}
        for each in _services(records)
    ]
    rows = ((each["name"], each["plugin"], ", ".join(each["runs_in"]), each["help"]) for each in documents)
    print_listing(as_json, documents, ("service", "plugin", "runs in", "description"), rows)


async def _serve(
    names: set[tuple[str, str]], allow: tuple[str, ...], options: dict[str, dict[str, Any]], stop: _Stop
) -> None:
    supervisor = Supervisor()
    stop.loop = asyncio.get_running_loop()
    async with open_allowing(allow, None) as claw:
        services = [each for each in claw.plugins.registrations(SERVICE_HOOK) if (each.plugin, each.name) in names]
        off: list[ServiceNews] = []
        report = lambda news: off.append(news) if news.change == "off" else _say(news)  # noqa: E731
        manager = ServiceManager(claw, services, "serve", report, options)
        async with upkeep(claw.home), supervisor.watching(manager.settled):
            await manager.run(stop.event)
    if len(off) == len(services):
        raise OneClawError(f"nothing to run: {'; '.join(str(each) for each in off)}")
    _write("stopped")
    if manager.are_left:
        # The event loop would wait for them for ever.
        sys.stdout.flush()
        os._exit(0)


@asynccontextmanager
async def upkeep(home: Home) -> AsyncGenerator[None, None]:
    """Tidy up a home now and each hour until the end of the block."""
    work = asyncio.create_task(_keep_up(home), name="upkeep of the home")
    try:
        yield
    finally:
        work.cancel()
        await asyncio.wait({work})


async def _keep_up(home: Home) -> None:
    while True:
        await run_in_thread(partial(tidy_up, home))
        await asyncio.sleep(UPKEEP_SECONDS)


def tidy_up(home: Home) -> None:
    """Remove lock files that killed processes have left, and shorten the log that launchd writes."""
    remove_unheld(home.locks)
    with suppress(OSError):  # the next time, or it is not there
        _shorten(home.log_file.with_name("serve.log"))


def _shorten(log: Path) -> None:
    """Move the content of a log to a second file; the program that appends to the first one keeps it open."""
    if log.stat().st_size > MAX_FILE_BYTES:
        old = log.with_name(f"{log.name}.1")
        shutil.copyfile(log, old)
        old.chmod(0o600)
        with log.open("r+b") as file:
            file.truncate()


def _say(news: ServiceNews) -> None:
    text = str(news)
    _write(*(f"{news.service}: {line}" for line in text.splitlines()) if news.change == "shows" else (text,))


def _write(*lines: str) -> None:
    for line in lines:
        click.echo(f"serve: {printable_line(line)}", err=True)


class _Stop:
    """The wish to stop, from a signal."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._timer: threading.Timer | None = None
        self._asked = 0

    def ask(self, number: int, frame: object) -> None:
        """Ask the services to stop; a second signal ends the program at once."""
        # Counted first: the second signal may interrupt this function.
        self._asked += 1
        if self._asked > 1:
            self._end("stopped at once")
        # A service that blocks the event loop must not keep the program from ending.
        self._timer = threading.Timer(STOP_SECONDS, self._end, [f"a service did not stop within {STOP_SECONDS:g} s"])
        self._timer.daemon = True
        self._timer.start()
        if self.loop is None:
            raise KeyboardInterrupt
        self.loop.call_soon_threadsafe(self.event.set)

    def end(self) -> None:
        """Everything has stopped."""
        if self._timer is not None:
            self._timer.cancel()

    @staticmethod
    def _end(text: str) -> None:
        # A signal may interrupt a write to sys.stderr, which then refuses another.
        with suppress(OSError):
            os.write(2, f"serve: {text}\n".encode())
        os._exit(1)


@contextmanager
def _signals() -> Iterator[_Stop]:
    stop = _Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.end()
