"""The settings of one plugin in an open home, read again when they change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError, PluginError, SettingsError
from oneclaw_core.secrets import remember_secret
from oneclaw_core.settings.reading import given_values, read_model
from oneclaw_core.tools.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import BaseModel

    from oneclaw_core.plugins.secrets import PluginSecrets
    from oneclaw_core.plugins.settings import RegisteredSettings
    from oneclaw_core.settings.reading import GivenValue


class PluginSettings:
    """The current settings of one plugin in an open home.

    Args:
        registered: the plugin's model.
        environ: the environment.
        secrets: of the plugin.
        read_stored: reads the values in the store, by key.
    """

    def __init__(
        self,
        registered: RegisteredSettings,
        environ: Mapping[str, str],
        secrets: PluginSecrets,
        read_stored: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._registered = registered
        self._read_stored = read_stored
        self._environ = environ
        self._secrets = secrets
        self._lock = asyncio.Lock()
        self._values: dict[str, Any] | None = None
        self._current: BaseModel | SettingsError | None = None

    @property
    def current(self) -> BaseModel:
        """An instance of the plugin's model.

        Raises:
            SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
        """
        if self._current is None:
            raise SettingsError(f"the settings of plugin {self._registered.plugin} are not read yet")
        if isinstance(self._current, SettingsError):
            raise self._current
        return self._current

    async def refresh(self, stored: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Read the settings again.

        Args:
            stored: values from the store, by key, if they are at hand.

        Returns:
            The names of the fields whose values changed; none of them the first time.

        Raises:
            PluginError: the model cannot be imported.
        """
        async with self._lock:  # so that each change is told once
            return await self._refresh(stored)

    async def _refresh(self, stored: Mapping[str, Any] | None) -> frozenset[str]:
        before = self._values
        try:
            given = await self._given(await self._read_stored() if stored is None else stored)
            values = {name: each.value for name, each in given.items()}
            if values == before:
                return frozenset()
            self._values = values
            model = self._registered.loaded_model
            if model is None:
                model = await run_in_thread(self._registered.load_model)
            self._current = read_model(model, self._registered.fields, given)
        except PluginError:
            raise
        except OneClawError as error:
            # It is raised where the plugin reads its settings.
            self._current, self._values = SettingsError(str(error)), self._values or {}
        if before is None:
            return frozenset()
        after = self._values
        return frozenset(name for name in {*before, *after} if before.get(name) != after.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        fields, secrets = self._registered.fields, {}
        for field in fields:
            if field.is_secret:
                if self._environ.get(field.variable):
                    remember_secret(self._environ[field.variable])
                elif (value := await self._secrets.get(field.name)) is not None:
                    secrets[field.key] = value
        return given_values(fields, stored, self._environ, secrets)
