"""The settings of one plugin in an open home, read again when they change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.settings.values import given_values, read_model
from oneclaw_core.errors import OneClawError, SettingsError
from oneclaw_core.process.threads import run_in_thread
from oneclaw_core.secrets.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import BaseModel

    from oneclaw_core.config.settings.values import GivenValue
    from oneclaw_core.plugins.contract.secrets import PluginSecrets
    from oneclaw_core.plugins.registration.settings import RegisteredSettings


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
        self._is_unread = False  # the store or the secrets could not be read the last time
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
        except OneClawError as error:
            # It is raised where the plugin reads its settings, until they can be read again.
            self._current, self._values, self._is_unread = SettingsError(str(error)), before or {}, True
            return frozenset()
        values = {name: each.value for name, each in given.items()}
        if values == before and not self._is_unread:
            return frozenset()
        model = self._registered.loaded_model
        if model is None:
            model = await run_in_thread(self._registered.load_model)
        self._values, self._is_unread = values, False
        try:
            self._current = read_model(model, self._registered.fields, given)
        except SettingsError as error:
            self._current = error
        if before is None:
            return frozenset()
        return frozenset(name for name in {*before, *values} if before.get(name) != values.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        fields, secrets = self._registered.fields, {}
        for field in fields:
            if field.is_secret:
                if self._environ.get(field.variable):
                    remember_secret(self._environ[field.variable])
                elif (value := await self._secrets.get(field.name)) is not None:
                    secrets[field.key] = value
        return given_values(fields, stored, self._environ, secrets)
