"""The services and access of a Google sign-in, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_google_workspace.accounts import USER, Account
from oneclaw_google_workspace.scopes import EXTRA_SCOPES, consent_scopes, missing_scopes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from oneclaw_core.http import OAuthClient, OAuthGrant


@dataclass(frozen=True, slots=True)
class SignIn:
    """The services that a user wants to sign in for.

    Attributes:
        name: of the account.
        services: keys of :data:`~oneclaw_google_workspace.scopes.SERVICES`.
        read_only: those for which only reading tools are to work.
        scopes: all that is asked for, without ``https://www.googleapis.com/auth/``.
        email: of the account, if it is known.
    """

    name: str
    services: tuple[str, ...]
    read_only: tuple[str, ...]
    scopes: tuple[str, ...]
    email: str | None = None

    @classmethod
    def of(
        cls, name: str, known: Account | None, services: Sequence[str], *, is_read_only: bool, extra: Sequence[str]
    ) -> SignIn:
        """Work out what to ask for: what is given, and what the account has already.

        Args:
            name: of the account.
            known: what it has already; ``None`` for a new one.
            services: what is given; none are all that the account has.
            is_read_only: whether those are for reading only from now on. Otherwise, those that are given get write
                access, and the others stay as they are.
            extra: further scopes.
        """
        had = known or Account(name, USER, None, (), ())
        together = tuple(dict.fromkeys([*had.services, *services]))
        narrowed = set(services or had.services) if is_read_only else set()
        widened = set() if is_read_only else set(services)
        read_only = tuple(each for each in together if each in narrowed or each in {*had.read_only} - widened)
        added = dict.fromkeys([*(scope for scope in had.scopes if scope in EXTRA_SCOPES), *extra])
        scopes = dict.fromkeys(consent_scopes(together, read_only=read_only, extra=added))
        return cls(
            name, together, read_only, tuple(scope for scope in scopes if not _is_covered(scope, scopes)), had.email
        )


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The outcome.

    Attributes:
        account: with what was granted.
        grant: the tokens.
        missing: what was asked for and not granted.
    """

    account: Account
    grant: OAuthGrant
    missing: tuple[str, ...]


async def sign_in(
    wanted: SignIn,
    oauth: OAuthClient,
    *,
    open_browser: bool,
    show: Callable[[str], None],
    read_line: Callable[[], Awaitable[str | None]],
) -> SignedIn:
    """Have the user agree in a browser; nothing is stored yet.

    Args:
        wanted: what for.
        oauth: with the OAuth client to sign in as.
        open_browser: see :meth:`OAuthClient.sign_in`.
        show: the same.
        read_line: the same.

    Raises:
        OneClawError: it did not work out.
    """
    grant = await oauth.authorize(
        scopes=wanted.scopes, email=wanted.email, open_browser=open_browser, show=show, read_line=read_line
    )
    if grant.refresh_token is None:
        raise OneClawError(
            "Google gives no lasting access: remove OneClaw's at https://myaccount.google.com/connections, and sign in "
            "again"
        )
    oauth.check_same_user(wanted.name, wanted.email, grant)
    scopes = grant.scopes or ()
    if not scopes:
        raise OneClawError("nothing was granted in the browser: run the command again, and leave the ticks")
    account = Account(wanted.name, USER, grant.email or wanted.email, scopes, wanted.services, wanted.read_only)
    return SignedIn(account, grant, tuple(missing_scopes(wanted.scopes, scopes)))


def _is_covered(scope: str, others: Mapping[str, None]) -> bool:
    """Return True if a scope is redundant, since a requested one for the same data allows more."""
    if scope == "gmail.readonly":
        return "gmail.modify" in others
    return scope.endswith(".readonly") and scope.removesuffix(".readonly") in others
