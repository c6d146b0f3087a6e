"""Load a plugin anew while its author works on it: ``oneclaw chat --reload NAME``.

Where the plugin's files have changed, its modules are imported anew between two turns, and the home is opened a second
time with them. The conversation continues in it, and the first one is closed. If the new version cannot be loaded, the
one before stays.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
import traceback
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import NotFoundError, OneClawError, PluginError, UsageError
from oneclaw_core.cli import print_error, printable_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from types import ModuleType

    from oneclaw_channels import Conversation

    from oneclaw_core import OneClaw

_IMPORT_SECONDS = 30.0
_OF_THE_PROGRAM = ("oneclaw_core", "oneclaw_terminal")


class PluginCode:
    """The code of a plugin: its files, and its modules in this process.

    Args:
        name: of the plugin.
        target: of its entry point, as ``module`` or ``module:attribute``.

    Raises:
        UsageError: the code runs the chat, or has no files.
    """

    def __init__(self, name: str, target: str) -> None:
        self.name = name
        self._entry = target.partition(":")[0]
        self._package = self._entry.partition(".")[0]
        if not target or self._package in _OF_THE_PROGRAM:
            raise UsageError(f"the plugin {name} cannot be loaded anew: it is part of the program")
        spec = importlib.util.find_spec(self._package)
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        origin = spec.origin if spec is not None else None
        self._places = [Path(place) for place in folders or ([origin] if origin is not None else [])]
        if not self._places:
            raise UsageError(f"the plugin {name} cannot be loaded anew: it has no files")
        self._seen = self._look()

    def keep(self) -> None:
        """Import it, so that this version is there when the files have changed; a failure is reported elsewhere."""
        with suppress(Exception):
            importlib.import_module(self._entry)

    def has_changed(self) -> bool:
        """Return True if a file of it has changed since the last call."""
        before, self._seen = self._seen, self._look()
        return before != self._seen

    def import_anew(self) -> dict[str, ModuleType]:
        """Import its modules anew.

        Returns:
            Those of before, for :meth:`put_back`.

        Raises:
            PluginError: one cannot be imported; those of before are back.
        """
        before = self._take_out()
        importlib.invalidate_caches()
        try:
            for module in (self._entry, *sorted(before.keys() - {self._entry})):
                if module == self._entry or importlib.util.find_spec(module) is not None:
                    importlib.import_module(module)
        except BaseException as error:
            self.put_back(before)
            raise PluginError(f"{self._place_of(error)}{type(error).__name__}: {error}") from error
        return before

    def put_back(self, before: dict[str, ModuleType]) -> None:
        """Use the modules of before again."""
        self._take_out()
        sys.modules.update(before)

    def _take_out(self) -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == self._package]
        return {name: sys.modules.pop(name) for name in names}

    def _look(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for place in self._places:
            for path in place.rglob("*") if place.is_dir() else (place,):
                if path.suffix != ".pyc" and path.is_file():
                    about = path.stat()
                    found[path] = (about.st_mtime_ns, about.st_size)
        return found

    def _place_of(self, error: BaseException) -> str:
        """Return the file and the line of the plugin where an import failed."""
        if isinstance(error, SyntaxError) and error.filename:
            return f"{error.filename}:{error.lineno}: "
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if any(Path(each.filename).is_relative_to(place) for place in self._places)]
        return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""


class Reloader:
    """An open home whose plugin is loaded anew when its files change.

    Args:
        open_home: opens the home.
        plugin: its name.

    Attributes:
        claw: the home that is open now.
        prepare: called with each home that takes the place of one.
    """

    claw: OneClaw

    def __init__(self, open_home: Callable[[], AbstractAsyncContextManager[OneClaw]], plugin: str) -> None:
        self.prepare: Callable[[OneClaw], None] = lambda _: None
        self._open_home = open_home
        self._plugin = plugin
        self._held: _HeldHome

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Reloader, None]:
        """Keep a home open for the block.

        Raises:
            NotFoundError: there is no such plugin.
        """
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # it is told apart by whole seconds
        self._held = await _HeldHome.open(self._open_home())
        try:
            self.claw = self._held.claw
            self._code = PluginCode(self._plugin, self._record(self.claw).target)
            await asyncio.to_thread(self._code.keep)
            yield self
        finally:
            sys.dont_write_bytecode = writes_bytecode
            await self._held.close()

    async def refresh(self, conversation: Conversation) -> bool:
        """Load the plugin anew if its files have changed; report what fails.

        Args:
            conversation: gets the new home.

        Returns:
            True if it has a new one.
        """
        if conversation.is_running or not self._code.has_changed():
            return False
        try:
            await asyncio.shield(asyncio.ensure_future(self._load_anew()))
        except OneClawError as error:
            print_error(f"the plugin {self._plugin} is not loaded anew, the version before stays: {error}")
            return False
        conversation.claw = self.claw
        self.prepare(self.claw)
        tools = ", ".join(self._record(self.claw).tools) or "no tools"
        click.echo(printable_line(f"(the plugin {self._plugin} is loaded anew: {tools})"), err=True)
        return True

    async def _load_anew(self) -> None:
        try:
            before = await asyncio.wait_for(asyncio.to_thread(self._code.import_anew), _IMPORT_SECONDS)
        except TimeoutError:
            raise PluginError(f"its import did not end within {_IMPORT_SECONDS:g} seconds") from None
        try:
            new = await _HeldHome.open(self._open_home())
        except BaseException:
            self._code.put_back(before)
            raise
        if faults := self._errors(new.claw) - self._errors(self.claw):
            self._code.put_back(before)
            await new.close()
            raise PluginError("; ".join(f"{where}: {cause}" for where, cause in sorted(faults)))
        old, self._held = self._held, new
        self.claw = new.claw
        await old.close()

    def _errors(self, claw: OneClaw) -> set[tuple[str, str]]:
        return {(each.where, each.cause) for each in self._record(claw).problems if each.is_error}

    def _record(self, claw: OneClaw) -> Any:
        for record in claw.catalog.plugins:
            if record.name == self._plugin:
                return record
        known = ", ".join(sorted(record.name for record in claw.catalog.plugins))
        raise NotFoundError(f"there is no plugin {self._plugin}; there are {known}")


class _HeldHome:
    """A home that a task holds open, so that any other task can close it."""

    claw: OneClaw

    def __init__(self, task: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
        self._release = asyncio.Event()
        self._task = asyncio.create_task(task(self._release))

    @classmethod
    async def open(cls, opening: AbstractAsyncContextManager[OneClaw]) -> _HeldHome:
        opened: asyncio.Future[OneClaw] = asyncio.get_running_loop().create_future()

        async def hold(release: asyncio.Event) -> None:
            try:
                async with opening as claw:
                    opened.set_result(claw)
                    await release.wait()
            except Exception as error:
                if opened.done():
                    raise
                opened.set_exception(error)

        held = cls(hold)
        held.claw = await opened
        return held

    async def close(self) -> None:
        self._release.set()
        await self._task
