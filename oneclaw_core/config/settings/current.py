"""The current settings of a plugin in an open home, read again when they change."""

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

    from oneclaw_core.config.settings.model import SettingsModel
    from oneclaw_core.config.settings.values import GivenValue


class CurrentSettings:
    """The current settings of one plugin in an open home.

    Args:
        settings: the plugin's model.
        environ: the environment.
        read_secret: reads the stored secret of a field.
        read_stored: reads the values in the store, by key.
    """

    def __init__(
        self,
        settings: SettingsModel,
        environ: Mapping[str, str],
        read_secret: Callable[[str], Awaitable[str | None]],
        read_stored: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._settings = settings
        self._read_stored = read_stored
        self._environ = environ
        self._read_secret = read_secret
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
            raise SettingsError(f"the settings of plugin {self._settings.plugin} are not read yet")
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
        model = self._settings.loaded
        if model is None:
            model = await run_in_thread(self._settings.load)
        self._values, self._is_unread = values, False
        try:
            self._current = read_model(model, self._settings.fields, given)
        except SettingsError as error:
            self._current = error
        if before is None:
            return frozenset()
        return frozenset(name for name in {*before, *values} if before.get(name) != values.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        fields, secrets = self._settings.fields, {}
        for field in fields:
            if field.is_secret:
                if self._environ.get(field.variable):
                    remember_secret(self._environ[field.variable])
                elif (value := await self._read_secret(field.name)) is not None:
                    secrets[field.key] = value
        return given_values(fields, stored, self._environ, secrets)
