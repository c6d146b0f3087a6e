"""`oneclaw google`: signing in to Google accounts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import OneClawError, UsageError, find_home
from oneclaw_core.cli import read_input_line, run_async
from oneclaw_core.http import SecretPlace
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT, USER, Account, AccountBook
from oneclaw_google_workspace.scopes import SCOPE_CHOICES, SERVICES, USUAL_SERVICES, consent_scopes, missing_scopes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from oneclaw_core.http import OAuthClient, OAuthGrant

_PLACES = {
    SecretPlace.KEYRING: "in the system keyring",
    SecretPlace.FILE: "in a file of the home, readable only by you",
}
_DEFAULT_NAME = "default"
_PERMISSIONS_PAGE = "https://myaccount.google.com/connections"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The services that a user wants to sign in for.

    Attributes:
        name: of the account.
        services: keys of :data:`~oneclaw_google_workspace.scopes.SERVICES`.
        read_only: those for which only reading tools are to work.
        scopes: all that is asked for, without ``https://www.googleapis.com/auth/``.
        email: of the account, if it is known.
        is_released: True if tools may use it when a call names it.
    """

    name: str
    services: tuple[str, ...]
    read_only: tuple[str, ...]
    scopes: tuple[str, ...]
    email: str | None = None
    is_released: bool = False

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
        added = dict.fromkeys([*(scope for scope in had.scopes if scope in SCOPE_CHOICES), *extra])
        scopes = dict.fromkeys(consent_scopes(together, read_only=read_only, extra=added))
        wanted = tuple(scope for scope in scopes if not _is_covered(scope, scopes))
        return cls(name, together, read_only, wanted, had.email, had.is_released)


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
        raise OneClawError("nothing was granted in the browser: run the command again, and keep the boxes checked")
    email = grant.email or wanted.email
    account = Account(wanted.name, USER, email, scopes, wanted.services, wanted.read_only, wanted.is_released)
    return SignedIn(account, grant, tuple(missing_scopes(wanted.scopes, scopes)))


def _is_covered(scope: str, others: Mapping[str, None]) -> bool:
    """Return True if a scope is redundant, since a requested one for the same data allows more."""
    if scope == "gmail.readonly":
        return "gmail.modify" in others
    return scope.endswith(".readonly") and scope.removesuffix(".readonly") in others


@click.group()
def google() -> None:
    """Sign in to Google accounts, for Gmail, Drive, Calendar and the other tools."""


@google.command()
@click.option("--account", "name", help="The name of the account; by default the default account.")
@click.option(
    "--services",
    metavar="LIST",
    help=f"The services, with commas: {', '.join(SERVICES)}. By default, a new account gets all except chat, "
    "meet and keep, and another account keeps its services.",
)
@click.option(
    "--read-only", "is_read_only", is_flag=True, help="Only for tools that change nothing; takes write access back."
)
@click.option(
    "--scope",
    "extra",
    multiple=True,
    type=click.Choice(SCOPE_CHOICES),
    metavar="SCOPE",
    help="Add a scope that only some arguments of tools, or some methods of google_call, need: "
    f"{', '.join(SCOPE_CHOICES)}.",
)
@click.option(
    "--client",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The client_secret.json of your own OAuth client; it is stored, so once is enough.",
)
@click.option(
    "--no-browser",
    is_flag=True,
    help="Use a browser on another machine: show the address to open, and ask for the resulting one.",
)
@click.option(
    "--service-account",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The key of a service account, instead of a browser; needs --subject.",
)
@click.option("--subject", metavar="EMAIL", help="The user of the domain for whom the service account acts.")
@click.option("--file", "in_file", is_flag=True, help="Store secrets in files of the home, not in the system keyring.")
def login(
    name: str | None,
    services: str | None,
    is_read_only: bool,
    extra: tuple[str, ...],
    client: str | None,
    no_browser: bool,
    service_account: str | None,
    subject: str | None,
    in_file: bool,
) -> None:
    """Sign in to a Google account, or change its services.

    You can sign in to the same account again. Your browser asks what OneClaw may do. You need your own OAuth client,
    from the Google Cloud console.
    """
    from oneclaw_google_workspace.accounts import ClientStore, google_oauth, read_client_file

    if bool(service_account) != bool(subject):
        raise UsageError("--service-account and --subject belong together")
    home = find_home()
    book = AccountBook(home)
    name = book.stored.check_name(name or book.default_name or _DEFAULT_NAME)
    known = book.list().get(name)
    chosen = _services(services) if services else () if known else USUAL_SERVICES
    wanted = SignIn.of(name, known, chosen, is_read_only=is_read_only, extra=extra)
    clients = ClientStore(home)
    if client:
        clients.set(read_client_file(_read(client), client), in_file=in_file)
    if service_account and subject:
        signing_in = _take_key(wanted, google_oauth(book), service_account, subject, in_file=in_file)
    else:
        oauth = google_oauth(book, clients.get())
        signing_in = _sign_in(wanted, oauth, open_browser=not no_browser, in_file=in_file)
    account, place, missing = run_async(signing_in)
    click.echo(f"signed in: {account.label}; the secret is {_PLACES[place]}")
    _show_access(account.access)
    if missing:
        _warn(f"not granted, so that some tools will not work: {', '.join(missing)}")
    if book.default_name != name:
        click.echo(f"tools use {book.default_name}; change that with: oneclaw google use {name}")


@google.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--check", is_flag=True, help="Ask Google whether the accounts still work.")
@click.pass_context
def status(context: click.Context, as_json: bool, check: bool) -> None:
    """Show the accounts, and what tools may read and write."""
    from oneclaw_google_workspace.accounts import google_oauth

    book = AccountBook(find_home())
    documents = [_document(account, book) for account in book.list().values()]
    if check:
        for document, account in zip(documents, book.list().values(), strict=True):
            document["problem"] = run_async(_problem(google_oauth(book), account))
    if as_json:
        click.echo(json.dumps(documents, indent=2, ensure_ascii=False))
    elif not documents:
        click.echo("no Google account is signed in; sign in with: oneclaw google login")
    else:
        for document in documents:
            _show(document)
    if any(document.get("problem") for document in documents):
        context.exit(1)


@google.command()
@click.option(
    "--also/--not-also",
    "is_released",
    default=None,
    help="Keep the current account, and also allow NAME when a model names it; or no longer.",
)
@click.argument("name")
def use(name: str, is_released: bool | None) -> None:
    """Use the account NAME for tools from now on."""
    book = AccountBook(find_home())
    if is_released is None:
        book.stored.set_default(name)
        click.echo(f"tools use the Google account {name}")
        return
    book.release(name, is_released=is_released)
    how = "may use the Google account" if is_released else "no longer use the Google account"
    click.echo(f"tools {how} {name} when a model names it")


@google.command()
@click.option("--account", "name", help="Which account; by default the default one.")
def logout(name: str | None) -> None:
    """Forget an account, and revoke OneClaw's access at Google."""
    from oneclaw_google_workspace.accounts import google_oauth

    book = AccountBook(find_home())
    name = name or book.default_name
    if name is None:
        click.echo("no Google account is signed in")
        return
    account = book.get(name)
    was_default = book.default_name == name
    problem = run_async(google_oauth(book).sign_out(name))
    click.echo(f"{account.label} is signed out")
    if was_default and book.default_name in book.list():
        click.echo(f"tools use {book.default_name} from now on")
    if problem:
        _warn(f"{problem}; you can take OneClaw's access back at {_PERMISSIONS_PAGE}")


def _services(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in SERVICES]
    if unknown or not names:
        raise UsageError(
            f"there is no service {', '.join(unknown or ['without a name'])!r}; there are: {', '.join(SERVICES)}"
        )
    return tuple(dict.fromkeys(names))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # a path as the user has typed it
            return file.read(1_000_000)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not a text'}") from None


async def _sign_in(
    wanted: SignIn, oauth: OAuthClient, *, open_browser: bool, in_file: bool
) -> tuple[Account, SecretPlace, tuple[str, ...]]:
    """Sign in with a browser; return the account, where its secret is, and what was not granted."""
    signed_in = await sign_in(wanted, oauth, open_browser=open_browser, show=_show_line, read_line=read_input_line)
    account = signed_in.account
    place = await oauth.save(account.stored, signed_in.grant, in_file=in_file)
    return account, place, signed_in.missing


async def _take_key(
    wanted: SignIn, oauth: OAuthClient, path: str, subject: str, *, in_file: bool
) -> tuple[Account, SecretPlace, tuple[str, ...]]:
    """Take the key of a service account, and ask Google for access, so that what is wrong with it is said now."""
    from oneclaw_google_workspace.accounts import assertion_form, read_key, refusals_explained

    key = read_key(_read(path), path)
    account = Account(
        wanted.name, SERVICE_ACCOUNT, subject, wanted.scopes, wanted.services, wanted.read_only, wanted.is_released
    )
    with refusals_explained(account):
        grant = await oauth.exchange(assertion_form(account.stored, key) or {})
    return account, await oauth.save(account.stored, grant, secret=key, in_file=in_file), ()


async def _problem(oauth: OAuthClient, account: Account) -> str | None:
    from oneclaw_google_workspace.accounts import refusals_explained

    try:
        with refusals_explained(account):
            await oauth.check(account.name)
    except OneClawError as error:
        return str(error)
    return None


def _document(account: Account, book: AccountBook) -> dict[str, Any]:
    place = book.stored.places().get(account.name)
    return {
        "name": account.name,
        "email": account.email,
        "kind": account.kind,
        "is_default": account.name == book.default_name,
        "is_released": account.is_released,
        "services": list(account.services),
        "access": account.access,
        "is_read_only": "write" not in account.access.values(),
        "scopes": list(account.scopes),
        "stored": place and str(place),
    }


def _show(document: dict[str, Any]) -> None:
    kind = ", by a service account" if document["kind"] != USER else ""
    also = " (used by tools when a model names it)" if document["is_released"] else ""
    mark = " (used by tools)" if document["is_default"] else also
    click.echo(f"{document['name']}: {document['email'] or 'unknown address'}{kind}{mark}")
    _show_access(document["access"])
    if document.get("problem"):
        click.echo(f"  problem: {document['problem']}")
    elif "problem" in document:
        click.echo("  checked: Google gives access")


def _show_access(access: Mapping[str, str | None]) -> None:
    for title, kind in (("read", "read"), ("write", "write"), ("not granted", None)):
        if names := [service for service, granted in access.items() if granted == kind]:
            click.echo(f"  {title}: {', '.join(names)}")


def _show_line(line: str) -> None:
    click.echo(line, err=True)


def _warn(message: str) -> None:
    click.echo(f"oneclaw: warning: {message}", err=True)
