"""Change the configured providers, and set their keys, which are never shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from oneclaw_core.config.keys import KeySource, check_key
from oneclaw_core.config.provider_options import (
    HEADERS,
    OPTIONS,
    check_headers,
    check_options,
    http_parts,
    is_same_place,
    place_at,
    place_of,
    written_headers,
)
from oneclaw_core.config.providers import (
    CONCURRENCY,
    MODELS,
    OFFLINE_MODEL,
    PROVIDER_SETTING,
    SET_BY_TOOL,
    ProviderState,
    check_provider_name,
    document_of,
    provider_states,
)
from oneclaw_core.errors import DuplicateError, InUseError, NotFoundError, ProtectedError, UsageError
from oneclaw_core.plugins.distributions import PROVIDER_PLUGINS
from oneclaw_core.providers.base import ProviderConfig, route_of
from oneclaw_core.providers.known import ProviderFactory, key_variable_of
from oneclaw_core.secrets.redaction import is_secret_name
from oneclaw_core.shipped.missing import missing_type
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.config.providers import ProviderSource
    from oneclaw_core.providers.route import Route
    from oneclaw_core.sessions.store import Store


MAX_DISPLAY_NAME_CHARACTERS = 100


class ProviderService:
    """Changes which model services there are.

    Args:
        source: where they are read from and stored.
    """

    def __init__(self, source: ProviderSource) -> None:
        self._source = source
        self._store, self._known, self._keys = source.store, source.known, source.keys

    async def list(self) -> list[ProviderState]:
        """Describe every provider."""
        return provider_states(await self._source.providers(), self._keys.stored(), self._keys.places())

    async def get(self, name: str) -> ProviderState:
        """Describe one provider.

        Raises:
            NotFoundError: there is none of that name.
        """
        configs = await self._source.providers()
        configs.require(name)
        states = provider_states(configs, self._keys.stored(), self._keys.places())
        return next(state for state in states if state.name == name)

    async def check_new(
        self,
        name: str,
        type_name: str,
        base_url: str | None = None,
        display_name: str | None = None,
        *,
        may_replace: bool = False,
    ) -> None:
        """Refuse what :meth:`add` would refuse, before anybody is asked whether it may be done.

        Raises:
            UsageError: a value does not fit, or the name is taken.
        """
        check_provider_name(name)
        if name in self._known.preconfigured:
            raise DuplicateError(f"the provider {name!r} is known from the start: choose another name")
        types = self._source.types
        if type_name not in types:
            if type_name in PROVIDER_PLUGINS:
                raise UsageError(missing_type(type_name, types, self._known.absent_plugins))
            known = ", ".join(types) or "none"
            raise UsageError(f"there is no provider type {type_name!r}; there are: {known}")
        check_base_url(base_url, name)
        _check_display_name(display_name)
        if not may_replace and PROVIDER_SETTING + name in await self._store.settings():
            raise DuplicateError(f"there is a provider {name!r} already: change it, or choose another name")

    async def add(
        self,
        name: str,
        type_name: str,
        base_url: str | None = None,
        display_name: str | None = None,
        *,
        may_replace: bool = False,
        is_by_tool: bool = False,
    ) -> ProviderState:
        """Add a provider.

        Args:
            name: unique; see :func:`check_provider_name`.
            type_name: the wire format it speaks.
            base_url: where it is; ``None`` for the type's own place.
            display_name: what people read; by default the name.
            may_replace: change one that was added before.
            is_by_tool: a model chose the address: no key of the environment is sent there.

        Raises:
            UsageError: a value does not fit, or the name is taken.
        """
        await self.check_new(name, type_name, base_url, display_name, may_replace=may_replace)
        await self._bind_key(name)
        document: dict[str, Any] = {"type": type_name, "base_url": base_url}
        if display_name is not None:
            document["display_name"] = display_name
        if is_by_tool:
            document[SET_BY_TOOL] = True
        await self._store.set_setting(PROVIDER_SETTING + name, document)
        self._keys.set_headers(name, None)
        return await self.get(name)

    async def check_change(
        self, name: str, *, display_name: str | None = None, base_url: str | None = None, is_enabled: bool | None = None
    ) -> None:
        """Refuse what :meth:`change` would refuse.

        Raises:
            NotFoundError: there is none of that name.
            ProtectedError: a provider known from the start can only be enabled and disabled.
            InUseError: the default model, or an agent's, is of the provider that is to be disabled.
            UsageError: a value does not fit.
        """
        await self.get(name)
        if name in self._known.preconfigured and (display_name is not None or base_url is not None):
            raise ProtectedError(
                f"the provider {name!r} is built in: it can only be enabled and disabled. Add one of your own instead"
            )
        check_base_url(base_url, name)
        _check_display_name(display_name)
        if is_enabled is False:
            await check_unused(self._store, name, "disabled")

    async def change(
        self,
        name: str,
        *,
        display_name: str | None = None,
        base_url: str | None = None,
        is_enabled: bool | None = None,
        is_by_tool: bool = False,
    ) -> ProviderState:
        """Change what is given of a provider; ``None`` leaves a value as it is.

        Args:
            name: which.
            display_name: what people read.
            base_url: where it is.
            is_enabled: whether its models can be used.
            is_by_tool: a model chose the address: no key of the environment is sent there.

        Raises:
            UsageError: as for :meth:`check_change`.
        """
        await self.check_change(name, display_name=display_name, base_url=base_url, is_enabled=is_enabled)
        wanted = {"display_name": display_name, "base_url": base_url, "enabled": is_enabled}
        changes: dict[str, object] = {key: value for key, value in wanted.items() if value is not None}
        if base_url is not None:
            await self._bind_key(name)
            if is_by_tool:
                changes[SET_BY_TOOL] = True

        def changed(said: dict[str, Any]) -> dict[str, Any]:
            document = {**said, **changes}
            return {} if name in self._known.preconfigured and document == {"enabled": True} else document

        if changes:
            await self._source.change(name, changed)
        return await self.get(name)

    async def sends_stored_key(self, name: str, type_name: str, base_url: str) -> bool:
        """Return True if the stored key of a provider would be sent to another address that a tool chooses."""
        if name not in self._keys.stored():
            return False
        place = self._keys.places().get(name)
        if place is None:
            configs = await self._source.providers()
            place = place_of(configs[name]) if name in configs else ""
        return is_same_place(place, place_at(base_url, type_name))

    async def _bind_key(self, name: str) -> None:
        """Keep a key of an earlier version for the address that the provider has until now."""
        configs = await self._source.providers()
        if name in configs and configs[name].takes_environment_key:
            self._keys.bind(name, place_of(configs[name]))

    async def configure(
        self,
        name: str,
        *,
        headers: Mapping[str, str | None] | None = None,
        concurrency: int | None = None,
        is_limited: bool = True,
        **options: object,
    ) -> ProviderState:
        """Set how a provider is asked, also one that is known from the start.

        Args:
            name: which.
            headers: the user's own headers, by their names; ``None`` as a value takes one away. They belong to the
                scheme, host and port of the provider as it is now.
            concurrency: how many requests it is sent at the same time; ``None`` leaves that as it is.
            is_limited: False to have no such limit.
            options: ``timeout_seconds`` and ``reasoning``; ``None`` takes one away.

        Raises:
            NotFoundError: there is no such provider.
            UsageError: a value is not acceptable; nothing is changed then.
        """
        config = (await self._source.providers()).require(name)
        changes = check_options(options)
        if config.is_local and (changes or headers):
            raise UsageError(f"{name} asks no service: nothing like that can be set for it")
        if concurrency is not None and concurrency < 1:
            raise UsageError("a provider is sent at least 1 request at the same time")
        if headers:
            changes[HEADERS] = await self._store_headers(config, headers)

        def changed(said: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in (said | changes).items() if key not in OPTIONS or value is not None}

        def limited(said: Any) -> dict[str, Any] | None:
            limits = {key: value for key, value in (said or {}).items() if key != name}
            return (limits | ({name: concurrency} if is_limited else {})) or None

        if changes:
            await self._source.change(name, changed)
        if concurrency is not None or not is_limited:
            await self._store.change_setting(CONCURRENCY.key, limited)
        return await self.get(name)

    async def _store_headers(self, config: ProviderConfig, headers: Mapping[str, str | None]) -> Any:
        """Store headers in addition to those there are, and return the names of all."""
        place = place_of(config)
        given = {name.lower() for name in headers}
        kept: Mapping[str, str] = {}
        if any(name.lower() not in given for name in config.header_names):
            kept = await self._keys.find_headers(config.name, place)
        wanted = {name: value for name, value in kept.items() if name.lower() not in given}
        wanted |= {name: value for name, value in headers.items() if value is not None}
        has_key = bool(config.api_key) or config.name in self._keys.stored()
        checked = check_headers(wanted, has_key=has_key, provider=config.name)
        self._keys.set_headers(config.name, written_headers(checked, place) if checked else None)
        return [*checked] or None

    async def set_key(self, name: str, key: str) -> KeySource:
        """Store the key of a provider in the place of what was stored, for the server where the provider is now.

        Returns:
            Where it is: in the system keyring, or in a file of the home.

        Raises:
            NotFoundError: there is no such provider.
            UsageError: it wants no key, or that is none.
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        config = (await self._source.providers()).require(name)
        if config.is_local:
            raise UsageError(f"{name} needs no key")
        checked = check_key(key)
        return await run_in_thread(lambda: self._keys.set(name, checked, place=place_of(config)))

    async def check_removal(self, name: str) -> None:
        """Refuse what :meth:`remove` would refuse.

        Raises:
            NotFoundError: there is none of that name.
            ProtectedError: it is known from the start.
            InUseError: the default model, or an agent's, is of this provider.
        """
        if name in self._known.preconfigured:
            raise ProtectedError(
                f"the provider {name!r} is known from the start and cannot be removed; "
                f"disable it instead: oneclaw providers disable {name}"
            )
        if PROVIDER_SETTING + name not in await self._store.settings():
            raise NotFoundError(f"there is no provider {name!r}; list them with: oneclaw providers list")
        await check_unused(self._store, name, "removed")

    async def remove(self, name: str) -> None:
        """Remove a provider that was added, and its headers; a stored key stays.

        Raises:
            UsageError: as for :meth:`check_removal`.
        """
        await self.check_removal(name)
        await self._bind_key(name)
        await self._store.remove_setting(PROVIDER_SETTING + name)
        self._keys.set_headers(name, None)


async def check_unused(store: Store, name: str, what: str) -> None:
    """Refuse to leave the default model, or an agent's, without its provider, or without itself.

    Args:
        store: where both are stored.
        name: of a provider, or a model as ``PROVIDER/MODEL``.
        what: is about to happen to it, such as ``removed``.

    Raises:
        InUseError: it is the default model or an agent's, or its provider.
    """

    def is_used(model: str) -> bool:
        return model == name if "/" in name else model.partition("/")[0] == name

    shown, of_it = (name, "it") if "/" in name else (f"the provider {name!r}", "of it")
    model = (await store.settings()).get("model") or OFFLINE_MODEL
    if is_used(str(model)):
        raise InUseError(
            f"{shown} cannot be {what}: the default model {model} is {of_it}. "
            "Choose another one first: oneclaw models default PROVIDER/MODEL"
        )
    users = [agent.name for agent in await store.list_agents() if is_used(agent.model or "")]
    if users:
        raise InUseError(
            f"{shown} cannot be {what}: the agent {users[0]!r} prefers {of_it.replace('of it', 'a model of it')}. "
            "Give that agent another model first: oneclaw agents edit NAME --model PROVIDER/MODEL"
        )


def check_base_url(url: str | None, name: str) -> None:
    """Check where a provider is said to be.

    Args:
        url: what the user wrote; ``None`` is fine.
        name: of the provider, for the message.

    Raises:
        UsageError: it is no HTTP address, or holds a password or another secret.
    """
    if url is None:
        return
    parts = http_parts(url)
    # Whitespace and control characters would be taken out by some and sent by others.
    if parts is None or any(character <= " " for character in url):
        raise UsageError("the base URL is invalid: it must be like https://host/v1 or http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the base URL must hold no user or password, for it is stored as it is: "
            f"set the environment variable {key_variable_of(name)} instead, or use: oneclaw keys set {name}"
        )
    if parts.fragment or url.endswith("#"):
        raise UsageError("the base URL must have no part behind a #: nothing of that is ever sent")
    secret = next((each for each, _ in parse_qsl(parts.query) if is_secret_name(each)), None)
    if secret is not None:
        raise UsageError(
            f"the base URL must hold no secret, such as {secret!r}, for it is stored as it is: set the environment "
            f"variable {key_variable_of(name)} instead, or use: oneclaw keys set {name}"
        )


def _check_display_name(name: str | None) -> None:
    if name is None:
        return
    is_line = bool(name) and name.isprintable() and name == name.strip()
    if not is_line or len(name) > MAX_DISPLAY_NAME_CHARACTERS:
        raise UsageError(
            f"a display name is one line of 1 to {MAX_DISPLAY_NAME_CHARACTERS} characters, without spaces around it"
        )


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class CompositionService:
    """Adds and removes models that stand for models of other providers.

    Args:
        source: where providers are read from and stored.
    """

    def __init__(self, source: ProviderSource) -> None:
        self._source = source

    async def add(self, model: str, composition: Mapping[str, Any]) -> Route:
        """Add a model that stands for models of other providers, or change one that was added.

        Raises:
            NotFoundError: there is no such provider, here or behind the model.
            UsageError: the composition is invalid.
        """
        configs = await self._source.providers()
        config, name = configs.split(model)
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name[:100]!a} is not a valid name for a chain: use letters, digits, '.', '_' and '-', 63 at most"
            )
        route = read_composition(config, await self._source.factory(config), name, composition)
        for each in route.models:
            member, _ = configs.split(each)
            if member.type == config.type or member.models:
                raise UsageError(f"a chain has models of services, no other chains: leave out {each}")
        await self._change_models(config.name, lambda models: {**models, name: dict(composition)})
        return route

    async def remove(self, model: str) -> None:
        """Remove a model that was composed of others.

        Raises:
            NotFoundError: there is none of that name.
            InUseError: it is the default model, or an agent's.
        """
        provider, _, name = model.partition("/")
        added = (await self._source.providers()).require(provider).models
        if name not in added:
            there_are = ", ".join(f"{provider}/{each}" for each in added) or "none"
            raise NotFoundError(f"there is no {model} that was added; there are: {there_are}")
        await check_unused(self._source.store, model, "removed")
        await self._change_models(provider, lambda models: {key: models[key] for key in models if key != name})

    async def _change_models(self, provider: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        def changed(said: dict[str, Any]) -> dict[str, Any]:
            models = change(document_of(said.pop(MODELS, None)))
            return said | ({MODELS: models} if models else {})

        await self._source.change(provider, changed)


def read_composition(config: ProviderConfig, factory: ProviderFactory, model: str, composition: Any) -> Route:
    """Have a provider read what one of its models is composed of.

    Raises:
        UsageError: the composition is invalid, or models of this provider are not composed.
    """
    provider = factory(replace(config, models={**config.models, model: composition}))
    route = route_of(provider, model)
    if route is None:
        raise UsageError(f"the models of {config.name} are its service's: only models of a chain are made of others")
    return route
