"""`oneclaw google`: signing in to Google accounts."""

from __future__ import annotations

import json
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import OneClawError, SecretPlace, UsageError, find_home
from oneclaw_google_workspace.accounts import DEFAULT_NAME, USER, Account, AccountBook, check_account_name
from oneclaw_google_workspace.scopes import EXTRA_SCOPES, SERVICES

if TYPE_CHECKING:
    from oneclaw_google_workspace.accounts import AccessToken

_PLACES = {
    SecretPlace.KEYRING: "in the system keyring",
    SecretPlace.FILE: "in a file of the home, readable by you alone",
}
_PERMISSIONS_PAGE = "https://myaccount.google.com/connections"


@click.group()
def google() -> None:
    """Sign in to Google accounts, for Gmail, Drive, Calendar and the other tools."""


@google.command()
@click.option("--account", "name", help="What to call the account; by default the default one.")
@click.option(
    "--services",
    metavar="LIST",
    help=f"What for, with commas: {', '.join(SERVICES)}. By default all for a new account, and as before for another.",
)
@click.option("--read-only", "is_read_only", is_flag=True, help="Only for tools that change nothing.")
@click.option(
    "--scope",
    "extra",
    multiple=True,
    type=click.Choice(EXTRA_SCOPES),
    help="Add what only some arguments of tools need.",
)
@click.option(
    "--client",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The client_secret.json of your own OAuth client; it is stored, so once is enough.",
)
@click.option(
    "--no-browser", is_flag=True, help="The browser is on another machine: show the address, ask for the other."
)
@click.option(
    "--service-account",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The key of a service account, in place of a browser; needs --subject.",
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
    """Sign in to a Google account, or let OneClaw do more.

    An account that is signed in can be signed in again. Your browser asks what OneClaw may do. It needs an OAuth
    client of your own, from the Google Cloud console.
    """
    from oneclaw_google_workspace.oauth_client import OAuthClientStore, read_client_file
    from oneclaw_google_workspace.sign_in import SignIn, sign_in, sign_in_service_account

    if bool(service_account) != bool(subject):
        raise UsageError("--service-account and --subject belong together")
    home = find_home()
    book = AccountBook(home)
    name = check_account_name(name or book.default_name or DEFAULT_NAME)
    book.check_new_name(name)
    known = book.list().get(name)
    chosen = _services(services) if services else () if known else tuple(SERVICES)
    wanted = SignIn.of(name, known, chosen, is_read_only=is_read_only, extra=extra)
    clients = OAuthClientStore(home)
    if client:
        clients.set(read_client_file(_read(client), client), in_file=in_file)
    if service_account and subject:
        signed_in = sign_in_service_account(wanted, _read(service_account), service_account, subject)
        _new_token(signed_in.account, signed_in.secret)  # so that what is wrong with it is said now
    else:
        signed_in = sign_in(
            wanted,
            clients.get(),
            open_browser=None if no_browser else _open_browser,
            ask_for_address=_ask_for_address,
        )
    with book.alone(name):
        place = book.save(signed_in.account, signed_in.secret, in_file=in_file)
        if signed_in.token is not None:
            book.save_access_token(name, signed_in.token)
    click.echo(f"signed in: {signed_in.account.label}; the secret is {_PLACES[place]}")
    if signed_in.missing:
        _warn(f"not granted, so that some tools will not work: {', '.join(signed_in.missing)}")
    if book.default_name != name:
        click.echo(f"tools use {book.default_name}; change that with: oneclaw google use {name}")


@google.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--check", is_flag=True, help="Ask Google whether the accounts still work.")
@click.pass_context
def status(context: click.Context, as_json: bool, check: bool) -> None:
    """Show the accounts that are signed in, and what for."""
    book = AccountBook(find_home())
    documents = [_document(account, book) for account in book.list().values()]
    if check:
        for document, account in zip(documents, book.list().values(), strict=True):
            document["problem"] = _problem(account, book)
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
@click.argument("name")
def use(name: str) -> None:
    """Have the tools use the account NAME from now on."""
    AccountBook(find_home()).set_default(name)
    click.echo(f"tools use the Google account {name}")


@google.command()
@click.option("--account", "name", help="Which account; by default the default one.")
def logout(name: str | None) -> None:
    """Forget an account, and take OneClaw's access back at Google."""
    book = AccountBook(find_home())
    name = name or book.default_name
    if name is None:
        click.echo("no Google account is signed in")
        return
    account = book.get(name)
    was_default = book.default_name == name
    with book.alone(name):
        problem = _revoke(book, account) if account.kind == USER else None
        book.remove(name)
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
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from None


def _open_browser(url: str) -> bool:
    from oneclaw_google_workspace.sign_in import has_browser

    if not has_browser() or not webbrowser.open(url):
        return False
    click.echo("Your browser asks what OneClaw may do. If it does not, open this address in it:", err=True)
    click.echo(url, err=True)
    return True


def _ask_for_address(url: str) -> str:
    click.echo("Open this address in a browser, on whatever machine, and agree:", err=True)
    click.echo(url, err=True)
    click.echo(
        "The browser then says that it cannot reach 127.0.0.1. Copy the address that it shows, all of it.", err=True
    )
    if sys.stdin.isatty():
        typed: str = click.prompt("Address", err=True)
        return typed
    return sys.stdin.readline(20_000)


def _new_token(account: Account, secret: dict[str, Any]) -> tuple[AccessToken, dict[str, Any]]:
    """Ask Google for access; gives the token, and the secret as it is to be from now on."""
    from google.auth.transport.requests import Request

    from oneclaw_google_workspace.token_requests import request_token

    token, changed, _ = request_token(account, secret, Request())
    return token, changed


def _problem(account: Account, book: AccountBook) -> str | None:
    try:
        with book.alone(account.name):
            secret = book.secret(account.name)
            token, changed = _new_token(account, secret)
            if changed != secret:
                book.change_secret(account.name, changed)
            book.save_access_token(account.name, token)
    except OneClawError as error:
        return str(error)
    return None


def _revoke(book: AccountBook, account: Account) -> str | None:
    """Take the access back at Google; what stood in the way, if anything did."""
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    from oneclaw_google_workspace.apis import address

    try:
        body = f"token={book.secret(account.name)['refresh_token']}".encode()
        transport = Request()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = transport(address("https://oauth2.googleapis.com/revoke"), "POST", body, headers, timeout=20)
    except (OneClawError, KeyError):
        return "its secret cannot be read"
    except GoogleAuthError:
        return "Google cannot be reached"
    # 400 means that the access has ended already.
    return None if answer.status in (200, 400) else f"Google answered with status {answer.status}"


def _document(account: Account, book: AccountBook) -> dict[str, Any]:
    place = book.places().get(account.name)
    return {
        "name": account.name,
        "email": account.email,
        "kind": account.kind,
        "is_default": account.name == book.default_name,
        "services": list(account.services),
        "is_read_only": account.is_read_only,
        "scopes": list(account.scopes),
        "stored": place and str(place),
    }


def _show(document: dict[str, Any]) -> None:
    kind = ", by a service account" if document["kind"] != USER else ""
    mark = " (used by tools)" if document["is_default"] else ""
    click.echo(f"{document['name']}: {document['email'] or 'unknown address'}{kind}{mark}")
    only = ", reading only" if document["is_read_only"] else ""
    click.echo(f"  for: {', '.join(document['services'])}{only}")
    if document.get("problem"):
        click.echo(f"  problem: {document['problem']}")
    elif "problem" in document:
        click.echo("  checked: Google gives access")


def _warn(message: str) -> None:
    click.echo(f"oneclaw: warning: {message}", err=True)
