"""Importing a plugin at its first use: in a daemon thread, with a time limit, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.catalogue.description import Description, import_target, leaving_out, raised_cause
from oneclaw_core.plugins.isolation import ForeignCall, ForeignCodeError, TookTooLongError
from oneclaw_core.plugins.loading.crash_guard import LOADING, CrashGuard
from oneclaw_core.plugins.registration.entry import new_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oneclaw_core.plugins.registration.entry import Registration
    from oneclaw_core.plugins.registration.hook_marks import PluginContract
    from oneclaw_core.plugins.registration.record import LoadedPlugin, PluginRecord
    from oneclaw_core.tools.registry import ToolRegistry


class PluginLoader:
    """Imports one plugin and the objects that it registered by name; a failure counts until the process ends.

    Args:
        record: of the plugin; gets the problem if the import fails.
        load: imports what the entry point names.
        contract: reads the plugin's marks.
        registry: for tools that need to know the others.
        notes_directory: where to note what is being imported; ``None`` for nowhere.
    """

    def __init__(
        self,
        record: PluginRecord,
        load: Callable[[], Any],
        contract: PluginContract,
        registry: ToolRegistry,
        notes_directory: Path | None,
    ) -> None:
        self._record = record
        self._load = load
        self._contract = contract
        self._registry = registry
        self._notes_directory = notes_directory
        # By what is imported: None for the plugin, else a target.
        self._imports: dict[str | None, _Import] = {}

    async def load(self) -> LoadedPlugin:
        """Import the plugin, without blocking the event loop.

        Raises:
            PluginError: it cannot be imported; the message names the plugin and the command that disables it.
        """
        loaded: LoadedPlugin = await self._import(None).wait_async()
        return loaded

    def load_now(self) -> LoadedPlugin:
        """Do the same in a program without an event loop."""
        loaded: LoadedPlugin = self._import(None).wait()
        return loaded

    async def load_object(self, registration: Registration) -> Any:
        """Import what the plugin registered by name, without blocking the event loop.

        Raises:
            PluginError: it cannot be imported, or is not registered any more.
        """
        if registration.target is None:
            return _found(registration, await self.load())
        return await self._import(registration.target).wait_async()

    def load_object_now(self, registration: Registration) -> Any:
        """Do the same in a program without an event loop."""
        if registration.target is None:
            return _found(registration, self.load_now())
        return self._import(registration.target).wait()

    def _import(self, target: str | None) -> _Import:
        found = self._imports.get(target)
        if found is None:
            record = self._record
            if target is None:
                description = Description(record.name, self._load, self._contract, self._registry, record.distribution)
                load: Callable[[], Any] = description.load
            else:

                def load() -> Any:
                    return import_target(target)

            found = self._imports[target] = _Import(record, target, load, self._notes_directory)
        return found


class _Import:
    """One import, noted as long as it runs."""

    def __init__(
        self, record: PluginRecord, target: str | None, load: Callable[[], Any], notes_directory: Path | None
    ) -> None:
        self._record = record
        self._target = target
        self._notes = CrashGuard(notes_directory)
        self._failure: PluginError | None = None

        def noted() -> Any:
            with self._notes, self._notes.during(record, LOADING):
                return load()

        self._call = ForeignCall(noted, f"import of {record.name}")

    def wait(self) -> Any:
        if self._failure is not None:
            raise self._failure
        try:
            return self._call.wait(isolation.LOAD_SECONDS)
        except (TookTooLongError, ForeignCodeError) as error:
            raise self._failed(error) from error
        except BaseException:  # Ctrl-C is not the plugin's fault
            self._notes.close()
            raise

    async def wait_async(self) -> Any:
        if self._failure is not None:
            raise self._failure
        try:
            return await self._call.wait_async(isolation.LOAD_SECONDS)
        except (TookTooLongError, ForeignCodeError) as error:
            raise self._failed(error) from error
        except BaseException:  # neither is the end of the turn
            self._notes.close()
            raise

    def _failed(self, error: TookTooLongError | ForeignCodeError) -> PluginError:
        record = self._record
        if isinstance(error, TookTooLongError):
            cause, check = str(error), "import.hangs"
        else:
            cause = raised_cause(error.raised)
            check = "import.exits" if isinstance(error.raised, SystemExit) else "import.fails"
        if self._target is None:
            remedy = leaving_out(record.name, record.distribution)
            record.add(new_problem("import", cause, remedy, check=check), is_logged=False)
        package = f" ({record.package})" if record.package else ""
        self._failure = PluginError(
            f"plugin {record.name}{package}: {self._target or record.target} cannot be imported: {cause}; upgrade the "
            f"plugin, or disable it with: oneclaw plugins disable {record.name}"
        )
        return self._failure


def _found(registration: Registration, loaded: LoadedPlugin) -> Any:
    for each in loaded.registrations:
        if (each.hook, each.name) == (registration.hook, registration.name):
            return each.value
    raise PluginError(
        f"the plugin {registration.plugin} does not register {registration.name!r} any more: upgrade it, or leave it "
        f"out with: oneclaw plugins disable {registration.plugin}"
    )
