"""Importing a plugin, or an object that it registered, at its first use: in a daemon thread, with a time limit."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.catalogue.description import leaving_out, raised_cause
from oneclaw_core.plugins.isolation import ForeignCall, ForeignError
from oneclaw_core.plugins.loading.crash_guard import LOADING, CrashGuard
from oneclaw_core.plugins.registration.entry import new_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oneclaw_core.plugins.registration.record import PluginRecord


class PluginImport:
    """One import, noted as long as it runs; a failure counts until the process ends.

    Args:
        record: of the plugin; gets the problem if its import fails.
        target: what is imported, as ``module:attribute``; ``None`` for the plugin itself.
        load: imports it.
        notes_directory: where to note what is being imported; ``None`` for nowhere.
    """

    def __init__(
        self, record: PluginRecord, target: str | None, load: Callable[[], Any], notes_directory: Path | None
    ) -> None:
        self._record = record
        self._target = target
        self._notes = CrashGuard(notes_directory)
        self._failure: PluginError | None = None

        def noted() -> Any:
            with self._notes, self._notes.during(record, LOADING, target):
                return load()

        self._call = ForeignCall(noted, f"import of {record.name}")

    def wait(self) -> Any:
        """Return what was imported.

        Raises:
            PluginError: it cannot be imported; the message names the plugin and the command that disables it.
        """
        with self._reported():
            return self._call.wait(isolation.LOAD_SECONDS)

    async def wait_async(self) -> Any:
        """Do the same without blocking the event loop."""
        with self._reported():
            return await self._call.wait_async(isolation.LOAD_SECONDS)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        if self._failure is not None:
            raise self._failure
        try:
            yield
        except (TimeoutError, ForeignError) as error:
            raise self._failed(error) from error
        except BaseException:  # neither Ctrl-C nor the end of the turn is the plugin's fault
            self._notes.close()
            raise

    def _failed(self, error: TimeoutError | ForeignError) -> PluginError:
        record = self._record
        if isinstance(error, ForeignError):
            cause = raised_cause(error.raised)
            check = "import.exits" if isinstance(error.raised, SystemExit) else "import.fails"
        else:
            cause, check = f"it did not end within {isolation.LOAD_SECONDS:g} s", "import.hangs"
        if self._target is None:
            remedy = leaving_out(record.name, record.distribution)
            record.add(new_problem("import", cause, remedy, check=check), is_logged=False)
        package = f" ({record.package})" if record.package else ""
        self._failure = PluginError(
            f"plugin {record.name}{package}: {self._target or record.target} cannot be imported: {cause}; upgrade the "
            f"plugin, or disable it with: oneclaw plugins disable {record.name}"
        )
        return self._failure
