"""The address of a model service."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlunsplit

from oneclaw_core import SettingsError
from oneclaw_core.config import http_parts

if TYPE_CHECKING:
    from oneclaw_core.providers import ProviderConfig

# What stands in a URL behind the user and the password, and before a query and a fragment.
_AROUND_SECRETS = "@?#"


@dataclass(frozen=True, slots=True)
class ServiceUrl:
    """The base URL of a service; made by :meth:`of`, which checks it."""

    _parts: SplitResult = field(repr=False)

    @classmethod
    def of(cls, config: ProviderConfig, default: str) -> ServiceUrl:
        """Read the base URL of a provider.

        Raises:
            SettingsError: it is no http or https URL.
        """
        text = (config.base_url or default).strip()
        parts = http_parts(text)
        if parts is None or not text.isprintable() or " " in text:
            shown = "" if any(mark in text for mark in _AROUND_SECRETS) else f", not {text[:200]!r}"
            raise SettingsError(
                f"the base URL of provider {config.name!r} must look like https://host.example/v1{shown}"
            )
        return cls(parts._replace(path=parts.path.rstrip("/"), fragment=""))

    def endpoint(self, path: str) -> str:
        """Make the URL of a path below the base URL; a query in the base URL is kept, one of the path joins it."""
        path, _, query = path.partition("?")
        query = "&".join(filter(None, (self._parts.query, query)))
        return urlunsplit(self._parts._replace(path=f"{self._parts.path}/{path}", query=query))

    def shown_endpoint(self, path: str) -> str:
        """The same, fit to be shown: without the user, the password and the query of the base URL."""
        netloc = self._parts.netloc.rpartition("@")[2]
        return ServiceUrl(self._parts._replace(netloc=netloc, query="")).endpoint(path)

    @property
    def origin(self) -> str:
        """Scheme, host and port, fit to be shown."""
        return f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"

    @property
    def is_https(self) -> bool:
        """True if the connection is encrypted."""
        return self._parts.scheme == "https"

    @property
    def password(self) -> str:
        """The password in the URL as it is written there, empty if there is none."""
        return self._parts.password or ""

    @property
    def host(self) -> str:
        """The host's name, in lower case."""
        return self._parts.hostname or ""

    def is_within(self, domain: str) -> bool:
        """Return True if the host is that of a domain, or below it."""
        return self.host == domain or self.host.endswith(f".{domain}")

    @property
    def is_loopback(self) -> bool:
        """True if the service is on this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
