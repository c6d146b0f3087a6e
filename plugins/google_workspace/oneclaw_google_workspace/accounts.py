"""The Google accounts that the user has signed in to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.http import OAuthAccount, OAuthAccounts
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import EXTRA_SCOPES, consent_scopes, granted_access, missing_scopes
from oneclaw_google_workspace.service import google_service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import Home
    from oneclaw_core.http import SecretPlace
    from oneclaw_google_workspace.scopes import Access

ACCOUNT_VARIABLE = "ONECLAW_GOOGLE_ACCOUNT"
USER = "user"
SERVICE_ACCOUNT = "service_account"


@dataclass(frozen=True, slots=True)
class Account:
    """A Google account, or a service account that acts for one.

    Attributes:
        name: what the user calls it.
        kind: ``user`` or ``service_account``.
        email: whose data the tools see; ``None`` if Google did not say.
        scopes: what was granted, without ``https://www.googleapis.com/auth/``.
        services: what the user signed in for, as ``--services`` names it.
        read_only: those of them that are for reading only.
    """

    name: str
    kind: str
    email: str | None
    scopes: tuple[str, ...]
    services: tuple[str, ...]
    read_only: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: OAuthAccount) -> Account:
        """Read what is Google's own from the details of a stored account."""
        details = stored.details
        services = tuple(map(str, details.get("services", ())))
        if "read_only" in details:
            read_only = tuple(map(str, details["read_only"]))
        elif details.get("is_read_only"):
            read_only = services
        else:  # earlier versions had one flag for all services, which did not say which of them can be read only
            read_only = tuple(each for each in services if granted_access(each, stored.scopes) == "read")
        return cls(stored.name, str(details.get("kind", USER)), stored.email, stored.scopes, services, read_only)

    @property
    def stored(self) -> OAuthAccount:
        """The account as it is stored."""
        details = {
            "kind": self.kind,
            "services": list(self.services),
            "read_only": list(self.read_only),
            # For earlier versions, which know this flag alone.
            "is_read_only": bool(self.read_only),
        }
        return OAuthAccount(self.name, self.scopes, self.email, details)

    @property
    def access(self) -> dict[str, Access | None]:
        """The access of tools to each service: the grants, within what the user signed in for."""
        return {
            service: "read" if granted == "write" and service in self.read_only else granted
            for service in self.services
            for granted in [granted_access(service, self.scopes)]
        }

    @property
    def writing_scopes(self) -> tuple[str, ...]:
        """The granted scopes that changes may use.

        Google adds what the user granted before, under whatever name, to what is granted now. Only what services
        with write access ask for counts.
        """
        asked = consent_scopes([each for each in self.services if each not in self.read_only], extra=EXTRA_SCOPES)
        return tuple(scope for scope in self.scopes if not missing_scopes([scope], asked))

    @property
    def label(self) -> str:
        """For people: the name, and whose it is."""
        return self.stored.label


class AccountBook:
    """The accounts of one home, and which of them tools use.

    Args:
        home: whose accounts.
        environ: the environment; ``ONECLAW_GOOGLE_ACCOUNT`` goes before the stored default.

    Attributes:
        stored: the accounts as they are stored, with secrets and access tokens.
    """

    def __init__(self, home: Home, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self.stored = OAuthAccounts(google_service(), home.path / "google_workspace", home.locks)

    def list(self) -> dict[str, Account]:
        """All accounts by name, in the order of signing in.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return {name: Account.of(account) for name, account in self.stored.list().items()}

    def get(self, name: str) -> Account:
        """Find an account.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: the file is open to others or damaged.
        """
        return Account.of(self.stored.get(name))

    @property
    def default_name(self) -> str | None:
        """The account that tools use: of the environment, else the stored one; ``None`` if there is none at all."""
        return self._environ.get(ACCOUNT_VARIABLE) or self.stored.default_name

    def save(self, account: Account, secret: Mapping[str, Any], *, in_file: bool = False) -> SecretPlace:
        """Add an account, or put it in the place of the one of its name; see :meth:`OAuthAccounts.save`."""
        return self.stored.save(account.stored, secret, in_file=in_file)

    def for_tools(self, login_options: str) -> Account:
        """The account that tools use.

        Args:
            login_options: of ``oneclaw google login``, for the message if no one is signed in.

        Raises:
            GoogleError: no one is signed in.
        """
        name = self.default_name
        if name is None:
            raise GoogleError(
                "not_available",
                f"No Google account is signed in. The user can sign in with: oneclaw google login {login_options}",
            )
        account = self.list().get(name)
        if account is None:
            raise GoogleError(
                "not_available",
                f"{ACCOUNT_VARIABLE} names the Google account {name[:100]!r}, which is not signed in. The user can "
                f"sign in with: oneclaw google login --account {name[:100]} {login_options}",
            )
        return account
