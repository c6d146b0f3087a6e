"""The Google accounts that the user has signed in to: how they sign in, service accounts (RFC 7523), access tokens."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError, remember_secret
from oneclaw_core.http import (
    OAuthAccount,
    OAuthAccounts,
    OAuthClient,
    OAuthError,
    OAuthService,
    OAuthUnavailableError,
    SecretPlace,
    SecretStore,
    SecretWords,
)
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.methods import address
from oneclaw_google_workspace.scopes import (
    EXTRA_SCOPES,
    SCOPE_PREFIX,
    SERVICES,
    consent_scopes,
    full_scope,
    granted_access,
    missing_scopes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_core import Home
    from oneclaw_google_workspace.scopes import Access

ID_VARIABLE = "ONECLAW_GOOGLE_CLIENT_ID"
SECRET_VARIABLE = "ONECLAW_GOOGLE_CLIENT_SECRET"  # noqa: S105  # the name of a variable
HOW_TO_GET = (
    "make one in the Google Cloud console, https://console.cloud.google.com/auth/clients, of the type desktop app, "
    "download its client_secret.json, and sign in once with: oneclaw google login --client client_secret.json"
)
_CLIENT_NAME = "client"
_CLIENT_WORDS = SecretWords(
    "the OAuth client", "the OAuth client", "OAuth client", "oneclaw google login --client client_secret.json"
)
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address
_AUTHORIZATION_URL = "https://accounts.google.com/o/oauth2/v2/auth"
_REVOCATION_URL = "https://oauth2.googleapis.com/revoke"
ACCOUNT_VARIABLE = "ONECLAW_GOOGLE_ACCOUNT"
USER = "user"
SERVICE_ACCOUNT = "service_account"
_RELEASED = "is_released"
_LIFETIME_SECONDS = 3600
_CLIENT_CODES = ("invalid_client", "unauthorized_client")


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """OAuth client that OneClaw signs in with at Google.

    Attributes:
        client_id: public.
        client_secret: which for a desktop app is not much of a secret, but is kept like one.
    """

    client_id: str
    client_secret: str


class ClientStore:
    """The source of the client: the environment, else stored like a key.

    Args:
        home: whose client.
        environ: the environment.
    """

    def __init__(self, home: Home, environ: Mapping[str, str] = os.environ) -> None:
        self._home = home
        self._environ = environ
        self._secrets = SecretStore(home.path / "google_workspace" / "google_client.json", home.locks, _CLIENT_WORDS)

    def get(self) -> ClientIdentity:
        """Find the client.

        Raises:
            UsageError: there is none; the message says how to get one.
            OneClawError: it cannot be read.
        """
        client_id, client_secret = self._environ.get(ID_VARIABLE), self._environ.get(SECRET_VARIABLE)
        if client_id and client_secret:
            return ClientIdentity(client_id, client_secret)
        if client_id or client_secret:
            raise UsageError(f"{ID_VARIABLE} and {SECRET_VARIABLE} must both be set, or neither")
        with suppress(ValueError, TypeError, KeyError):
            values = json.loads(self._secrets.get(_CLIENT_NAME) or "")
            remember_secret(values["client_secret"], f"Google client {values['client_id']}")
            return ClientIdentity(values["client_id"], values["client_secret"])
        raise UsageError(f"there is no OAuth client to sign in with: {HOW_TO_GET}")

    def set(self, client: ClientIdentity, *, in_file: bool = False) -> SecretPlace:
        """Store the client.

        Raises:
            OneClawError: it cannot be stored.
        """
        self._home.create()
        values = {"client_id": client.client_id, "client_secret": client.client_secret}
        remember_secret(client.client_secret, f"Google client {client.client_id}")
        return self._secrets.set(_CLIENT_NAME, json.dumps(values), in_file=in_file)


def read_client_file(text: str, file_name: str) -> ClientIdentity:
    """Read a ``client_secret.json`` as the Cloud console gives it.

    Args:
        text: its content.
        file_name: for messages.

    Raises:
        UsageError: it is something else.
    """
    with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
        document = json.loads(text)
        if document.get("type") == "service_account":
            raise UsageError(f"{file_name} is the key of a service account: give it with --service-account")
        if "web" in document:
            raise UsageError(
                f"{file_name} is an OAuth client of the type web application, which cannot be signed in to from a "
                "command line: make one of the type desktop app"
            )
        values = document["installed"]
        client_id, client_secret = values["client_id"], values["client_secret"]
        if all(isinstance(each, str) and each.isprintable() and each for each in (client_id, client_secret)):
            return ClientIdentity(client_id, client_secret)
    raise UsageError(f"{file_name} is not a client_secret.json of an OAuth client: {HOW_TO_GET}")


def google_service(client: ClientIdentity | None = None) -> OAuthService:
    """Describe Google.

    Args:
        client: who signs in; not needed for what is signed in already.

    Raises:
        SettingsError: the address of a stand-in for Google is not acceptable.
    """
    return OAuthService(
        name="google",
        title="Google",
        sign_in_command="oneclaw google login --account {account}",
        authorization_endpoint=address(_AUTHORIZATION_URL),
        token_endpoint=address(TOKEN_URL),
        revocation_endpoint=address(_REVOCATION_URL),
        client_id=client.client_id if client else "",
        client_secret=client.client_secret if client else None,
        # Says whose account it is, so that status can show it and an extension goes to the same one.
        identity_scopes=("openid", "userinfo.email"),
        scope_prefix=SCOPE_PREFIX,
        authorization_parameters={
            "access_type": "offline",
            # Without it Google gives no refresh token to a user who has agreed before.
            "prompt": "consent",
        },
        issuer="https://accounts.google.com",
        ended_codes=frozenset({"account_disabled", "deleted_client"}),
    )


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
        is_released: True if tools may use it when a call names it, although it is not the default one.
    """

    name: str
    kind: str
    email: str | None
    scopes: tuple[str, ...]
    services: tuple[str, ...]
    read_only: tuple[str, ...] = ()
    is_released: bool = False

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
        kind, is_released = str(details.get("kind", USER)), bool(details.get(_RELEASED, False))
        return cls(stored.name, kind, stored.email, stored.scopes, services, read_only, is_released)

    @property
    def stored(self) -> OAuthAccount:
        """The account as it is stored."""
        details = {
            "kind": self.kind,
            "services": list(self.services),
            "read_only": list(self.read_only),
            # For earlier versions, which know this flag alone.
            "is_read_only": bool(self.read_only),
            _RELEASED: self.is_released,
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
        services = [each for each in self.services if each not in self.read_only]
        more = [scope for each in services if each in SERVICES for scope in SERVICES[each].more]
        asked = consent_scopes(services, extra=[*EXTRA_SCOPES, *more])
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

    def release(self, name: str, *, is_released: bool = True) -> None:
        """Let tools use an account when a call names it, or no longer.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: it cannot be stored.
        """
        self.stored.update_details(name, {_RELEASED: is_released})

    def for_tools(self, login_options: str, chosen: str | None = None) -> Account:
        """Find the account that a tool uses.

        Args:
            login_options: of ``oneclaw google login``, for the message if no one is signed in.
            chosen: name or address of the account that the call names; ``None`` for the default one.

        Raises:
            GoogleError: no one is signed in, or the user has not released the account for tools.
        """
        name = self.default_name
        if name is None:
            raise GoogleError(
                "not_available",
                f"No Google account is signed in. The user can sign in with: oneclaw google login {login_options}",
            )
        accounts = self.list()
        account = accounts.get(name)
        if chosen is not None:
            return _chosen_of([each for each in accounts.values() if each.name == name or each.is_released], chosen)
        if account is None:
            raise GoogleError(
                "not_available",
                f"{ACCOUNT_VARIABLE} names the Google account {name[:100]!r}, which is not signed in. The user can "
                f"sign in with: oneclaw google login --account {name[:100]} {login_options}",
            )
        return account


def _chosen_of(usable: list[Account], chosen: str) -> Account:
    wanted = chosen.strip().casefold()
    for account in usable:
        if wanted == account.name.casefold() or (account.email and wanted == account.email.casefold()):
            return account
    raise GoogleError(
        "not_available",
        f"Tools may not use an account {chosen[:100]!r}. They may use: {', '.join(each.label for each in usable)}. The "
        "user can release another one with: oneclaw google use --also NAME",
    )


def read_key(text: str, file_name: str) -> dict[str, Any]:
    """Read the key file of a service account.

    Args:
        text: its content.
        file_name: for messages.

    Raises:
        UsageError: it is no such key.
    """
    try:
        key: dict[str, Any] = json.loads(text)
        is_key = key["type"] == "service_account" and all(
            isinstance(key[name], str) for name in ("client_email", "private_key", "client_id")
        )
    except (ValueError, RecursionError, TypeError, KeyError):
        is_key = False
    if not is_key:
        raise UsageError(
            f"{file_name} is not a key of a service account: make one in the Google Cloud console, as JSON"
        )
    remember_secret(key["private_key"], f"Google service account {key['client_email']}")
    return key


def assertion_form(stored: OAuthAccount, secret: Mapping[str, Any]) -> dict[str, str] | None:
    """Make the request for an access token of a service account; ``None`` for the account of a user.

    Args:
        stored: the account.
        secret: its key.

    Raises:
        GoogleError: the key is damaged.
    """
    account = Account.of(stored)
    if account.kind != SERVICE_ACCOUNT:
        return None
    from google.auth import crypt, jwt

    now = int(time.time())
    try:
        signer = crypt.RSASigner.from_service_account_info(secret)  # type: ignore[no-untyped-call]
        claims = {
            "iss": secret["client_email"],
            "sub": account.email,
            "aud": TOKEN_URL,
            "scope": " ".join(map(full_scope, account.scopes)),
            "iat": now,
            "exp": now + _LIFETIME_SECONDS,
        }
        assertion: bytes = jwt.encode(signer, claims)  # type: ignore[no-untyped-call]
    except (ValueError, KeyError, TypeError):
        raise GoogleError(
            "not_available",
            f"The key of the service account {account.name} is damaged. The user can give it again with: "
            f"oneclaw google login --account {account.name} --service-account FILE --subject EMAIL",
        ) from None
    return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion.decode()}


def google_oauth(
    book: AccountBook,
    client: ClientIdentity | None = None,
    open_http: Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]] | None = None,
) -> OAuthClient:
    """Make what signs in to Google and gets access tokens.

    Args:
        book: the accounts.
        client: who signs in; not needed for what is signed in already.
        open_http: gives an HTTP client for a request, by default one for services that the user has chosen.
    """
    service = google_service(client)
    if open_http is None:
        return OAuthClient(service, book.stored, renewal=assertion_form)
    return OAuthClient(service, book.stored, open_http=open_http, renewal=assertion_form)


class TokenSource:
    """Access tokens of one account.

    Args:
        oauth: gets them.
        account: whose.
    """

    def __init__(self, oauth: OAuthClient, account: Account) -> None:
        self._oauth = oauth
        self._account = account

    async def token(self, *, refused: str | None = None) -> str:
        """Return a token that is valid as far as is known.

        Args:
            refused: a token that Google has just refused.

        Raises:
            GoogleError: Google gives none; the message says what the user can do.
            OneClawError: the sign-in cannot be read.
        """
        with refusals_explained(self._account):
            return await self._oauth.access_token(self._account.name, refused=refused)


@contextmanager
def refusals_explained(account: Account) -> Iterator[None]:
    """Turn what the sign-in service refuses into what a model is told about Google.

    Raises:
        GoogleError: in the place of an ``OAuthError``.
    """
    try:
        yield
    except OAuthError as error:
        raise GoogleError(error.error_type, _explained(account, error)) from None


def _explained(account: Account, error: OAuthError) -> str:
    login = f"oneclaw google login --account {account.name}"
    if isinstance(error, OAuthUnavailableError) or not error.code:
        return str(error)
    if account.kind == SERVICE_ACCOUNT:
        if error.code in ("unauthorized_client", "access_denied"):
            return (
                f"The service account {account.name} may not act for {account.email}. An administrator of the domain "
                "can allow it at https://admin.google.com/ac/owl/domainwidedelegation, for the scopes: "
                f"{', '.join(map(full_scope, account.scopes))}"
            )
        return (
            f"Google does not accept the service account {account.name} ({error.description}). The user can give its "
            f"key again with: {login} --service-account FILE --subject EMAIL"
        )
    if error.code in _CLIENT_CODES:
        return (
            f"Google does not accept the OAuth client that {account.name} was signed in with ({error.description}). "
            f"The user can sign in with another one: {login} --client client_secret.json"
        )
    return str(error)
