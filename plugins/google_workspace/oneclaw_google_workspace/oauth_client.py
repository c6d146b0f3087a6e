"""The user's own OAuth client: what Google's Cloud console calls OAuth client ID, of the type desktop app."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core import UsageError, remember_secret
from oneclaw_core.http import SecretPlace, SecretStore, SecretWords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import Home

ID_VARIABLE = "ONECLAW_GOOGLE_CLIENT_ID"
SECRET_VARIABLE = "ONECLAW_GOOGLE_CLIENT_SECRET"  # noqa: S105  # the name of a variable
HOW_TO_GET = (
    "make one in the Google Cloud console, https://console.cloud.google.com/auth/clients, of the type desktop app, "
    "download its client_secret.json, and sign in once with: oneclaw google login --client client_secret.json"
)

_NAME = "client"
_WORDS = SecretWords(
    "the OAuth client", "the OAuth client", "OAuth client", "oneclaw google login --client client_secret.json"
)


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """As whom OneClaw comes to Google.

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
        self._secrets = SecretStore(home.path / "google_workspace" / "google_client.json", home.locks, _WORDS)

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
            values = json.loads(self._secrets.get(_NAME) or "")
            remember_secret(values["client_secret"])
            return ClientIdentity(values["client_id"], values["client_secret"])
        raise UsageError(f"there is no OAuth client to sign in with: {HOW_TO_GET}")

    def set(self, client: ClientIdentity, *, in_file: bool = False) -> SecretPlace:
        """Store the client.

        Raises:
            OneClawError: it cannot be stored.
        """
        self._home.create()
        values = {"client_id": client.client_id, "client_secret": client.client_secret}
        remember_secret(client.client_secret)
        return self._secrets.set(_NAME, json.dumps(values), in_file=in_file)


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
    raise UsageError(f"{file_name} is no client_secret.json of an OAuth client: {HOW_TO_GET}")
