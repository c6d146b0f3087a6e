"""The secrets of plugins as `oneclaw keys` and `oneclaw doctor` name them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from oneclaw_core.config.setting_fields import variable_of
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.plugins.contract.secrets import MAX_SECRET_CHARACTERS, secret_key
from oneclaw_core.plugins.registration.settings import registered_settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.cli.catalog import HomeCatalog


@dataclass(frozen=True, slots=True)
class PluginSecret:
    """A secret of a plugin, stored or not.

    Attributes:
        plugin: the plugin's name.
        name: of the secret.
        is_required: True if the plugin has a setting of that name that cannot do without it.
    """

    plugin: str
    name: str
    is_required: bool = False

    @property
    def key(self) -> str:
        """What ``oneclaw keys set`` takes."""
        return f"{self.plugin}.{self.name}"

    @property
    def stored_as(self) -> str:
        """The name in the secret store."""
        return secret_key(self.plugin, self.name)

    @property
    def variable(self) -> str:
        """The environment variable that goes before a stored value."""
        return variable_of(self.key)


def find_secret(key: str, catalog: HomeCatalog) -> PluginSecret | None:
    """Find a secret that a user named, ``None`` if no plugin has such a name.

    Args:
        key: as ``PLUGIN.NAME``.
        catalog: what is installed.

    Raises:
        NotFoundError: the plugin has other secrets.
        UsageError: the plugin has a setting of that name that is no secret.
    """
    plugin = max((each.name for each in catalog.plugins if key.startswith(f"{each.name}.")), key=len, default=None)
    if plugin is None:
        return None
    fields = [field for each in registered_settings(catalog.plugins) if each.plugin == plugin for field in each.fields]
    for field in fields:
        if field.key == key and not field.is_secret:
            raise UsageError(f"{key} is no secret: set it with: oneclaw config set {key} VALUE")
    secrets = [field.key for field in fields if field.is_secret]
    if secrets and key not in secrets:
        close = get_close_matches(key, secrets, cutoff=0.6) or secrets
        raise NotFoundError(f"the plugin {plugin} has no such secret; did you mean {' or '.join(close)}?")
    return PluginSecret(plugin, key.removeprefix(f"{plugin}."))


def all_secrets(catalog: HomeCatalog, stored: Iterable[str]) -> list[PluginSecret]:
    """List the secrets that plugins have settings for, and those that are stored.

    Args:
        catalog: what is installed.
        stored: the names in the secret store.
    """
    found = [
        PluginSecret(each.plugin, field.name, field.is_required)
        for each in registered_settings(catalog.plugins)
        for field in each.fields
        if each.plugin is not None and field.is_secret
    ]
    known = {each.stored_as for each in found}
    for name in stored:
        plugin, dot, secret = name.partition(".")
        if dot and name not in known:
            found.append(PluginSecret(shown_key(plugin), secret))
    return found


def shown_key(name: str) -> str:
    """Return how a name in the secret store is shown."""
    return name.replace("%2E", ".")


def check_secret(text: str) -> str:
    """Check what somebody typed or piped as a secret; it is never repeated.

    Returns:
        The secret, without spaces around it.

    Raises:
        UsageError: it cannot be stored.
    """
    secret = text.strip()
    if not secret:
        raise UsageError("the secret is empty: nothing is stored")
    if len(secret) > MAX_SECRET_CHARACTERS or not secret.isprintable():
        raise UsageError(
            f"that is not stored: a secret is one line of visible characters, {MAX_SECRET_CHARACTERS} at most"
        )
    return secret
