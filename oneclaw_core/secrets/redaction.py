"""Keeping keys out of what is printed and logged."""

from __future__ import annotations

import logging
import os
import re
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from oneclaw_core.types.tools import ToolResult

_Call = TypeVar("_Call")

# What the names of environment variables that hold secrets end in, by the convention that vendors follow.
SECRET_SUFFIXES = ("_API_KEY", "_ACCESS_KEY", "_SECRET_KEY", "_TOKEN", "_SECRET", "PASSWORD")
# What speaks of a secret in a name, as one of its words or behind the last one. Every command imports this module, and
# few look for such names: the patterns are compiled by who uses them.
_TELLING_NAME = (
    r"(?:^|_)(?:APIKEY|AUTH(?!_SOCK)|AUTHORIZATION|BEARER|COOKIE|CREDENTIAL|CREDS?|DSN|FERNET|HMAC|JWT|KEY|PASS"
    r"|PASSPHRASE|PASSWD|PAT|PEPPER|PSWD|SALT|SECRET|SIGNATURE|SK|TOKEN|WEBHOOK|CONN_?STR|MFA|MNEMONIC|OTP|PASSCODE|PIN"
    r"|PINCODE|PWORD|SAS|SEED|TOTP|UNSEAL|(?:BACKUP|LICENSE|RECOVERY)_?CODE)S?(?:_|$)|CREDENTIALS"
    # In other languages, too.
    r"|PASSWORD|PASSWORT|CONTRASENA|MOT_?DE_?PASSE|SENHA|CONNECTION_?STRING|ACCESSKEY|APIKEY|PRIVATE_?KEY|SECRETKEY"
    r"|UNSEALKEY|(?:TOKEN|SECRET|PASSWD|PGPASS|_PWD|_PW)$"
)
# Ends of names that other words have too, such as MONKEY: the value decides.
_ENDS_LIKE_A_SECRET = ("KEY", "KEYS", "PASS", "PAT")
_LIKE_A_KEY = r"(?!/|~)[!-~]{12,}"
# Values that are keys by their shape, whatever their variable is called.
_TELLING_VALUE = (
    r"\b(?:sk-|[rs]k_live_|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|AIza|AKIA|ASIA|npm_|pypi-|hf_|dop_v1_|SG\.)"
    r"[\w.-]{10,}|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|hooks\.slack\.com/services/"
    r"|discord(?:app)?\.com/api/webhooks/"
    r"|AGE-SECRET-KEY-|^(?:Basic|Bearer) \S{8}"
    # Parts of connection strings, and of JSON.
    r"|(?i:(?:^|[;\s])(?:AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd)\s*=\s*[^;\s]+)"
    r"|(?i:\"(?:api_?key|client_?secret|password|private_?key|secret|token)\"\s*:)"
    # Random bytes in base64: nothing else mixes small and large letters and digits in such a long word.
    r"|^(?=.*[a-z])(?=.*[A-Z])(?=(?:.*[0-9]){2})(?!/)[A-Za-z0-9+/]{24,}={0,2}$"
)
_OWN_PREFIX = "ONECLAW_"
# Of a database, a proxy or a service: SCHEME://USER:PASSWORD@HOST, ?password=PASSWORD as libpq takes it, or ?key=KEY.
_KEY_IN_URL = (
    r"://[^\s/?#:@]*:([^\s/?#]+)@|[?&](?:[\w-]*[_-])?(?:password|key|apikey|token|secret|sig|signature)=([^\s&#]+)"
)
# A shorter value would be found in ordinary words.
SHORTEST_SECRET_CHARACTERS = 8
SHORTEST_KEY_CHARACTERS = 20
"""In text that a tool read: a shorter secret can be a word like any other, such as a password of a local service."""
# A shorter one, or a path, can be part of what programs need, such as PATH.
_SHORTEST_EMBEDDED_CHARACTERS = 16
REDACTED = "[redacted]"

KEPT_SECRETS = 4
"""The current secret of an account and those before it, which a log or an error may still show."""
KEPT_UNNAMED_SECRETS = 200
_MOST_ACCOUNTS = 1_000


class _Remembered:
    """Secrets that are not in the environment, bounded, so that a program can run for months.

    Attributes:
        secrets: all of them.
    """

    def __init__(self) -> None:
        self.secrets: frozenset[str] = frozenset()
        # Accounts and the secrets of each, the latest last. Those without an account are kept under "".
        self._accounts: dict[str, list[str]] = {"": []}
        self._changing = threading.Lock()

    def add(self, secret: str, account: str) -> None:
        """Add the current secret of an account, and forget the oldest where there are too many."""
        if len(secret) < SHORTEST_SECRET_CHARACTERS:
            return  # nothing looks for it
        with self._changing:
            kept = [each for each in self._accounts.pop(account, []) if each != secret]
            if account:
                self._accounts[""] = [each for each in self._accounts[""] if each != secret]
            if account or not any(secret in others for others in self._accounts.values()):
                kept = [*kept, secret][-(KEPT_SECRETS if account else KEPT_UNNAMED_SECRETS) :]
            self._accounts[account] = kept
            if len(self._accounts) > _MOST_ACCOUNTS:
                del self._accounts[next(each for each in self._accounts if each)]
            self.secrets = frozenset(each for secrets in self._accounts.values() for each in secrets)


# Code that prints or logs does not know which home is open, and the environment belongs to the process as well.
_remembered = _Remembered()


def remember_secret(secret: str, account: str = "") -> None:
    """Have a secret that is not in the environment redacted too, from now on and everywhere in the process.

    Of each account, the latest secret and the three before it are kept, and of all others the latest 200.

    Args:
        secret: at least 8 characters; a shorter one is ignored.
        account: what the secret is for, such as ``acme token of ada@example.org``. Name it where secrets are renewed.
    """
    _remembered.add(secret, account)


def remember_secrets_of(environ: Mapping[str, str], owner: str) -> None:
    """Have the secrets of another environment than the program's own redacted too.

    Args:
        environ: the environment.
        owner: of the environment, such as the path of a home.
    """
    if environ is not os.environ:
        for number, secret in enumerate(sorted(_secrets_in(environ))):
            remember_secret(secret, f"environment of {owner} {number}")


def redact(text: str, environ: Mapping[str, str] | None = None, *, shortest: int = SHORTEST_SECRET_CHARACTERS) -> str:
    """Replace every secret that a text contains: those of the environment, and those remembered.

    Args:
        text: what is about to be shown.
        environ: the environment; by default the program's own.
        shortest: how many characters a secret has at least; a shorter one stays.
    """
    return redact_all((text,), environ, shortest=shortest)[0]


def redact_all(
    texts: Iterable[str], environ: Mapping[str, str] | None = None, *, shortest: int = SHORTEST_SECRET_CHARACTERS
) -> list[str]:
    """Do the same for several texts; the secrets are looked for once."""
    found = list(texts)
    return Redaction(environ)(found, shortest=shortest) if any(found) else found


class Redaction:
    """Redacts texts at different times; the environment is read once, and what is remembered meanwhile counts.

    Args:
        environ: the environment; by default the program's own.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._of_environment = frozenset(_secrets_in(os.environ if environ is None else environ))

    @property
    def secrets(self) -> frozenset[str]:
        """All secrets that are known now."""
        return self._of_environment | _remembered.secrets

    def __call__(self, texts: Iterable[str], *, shortest: int = SHORTEST_SECRET_CHARACTERS) -> list[str]:
        """Replace every secret that the texts contain.

        Args:
            texts: what is about to be shown.
            shortest: how many characters a secret has at least; a shorter one stays.
        """
        wanted = [each for each in self.secrets if len(each) >= max(shortest, 1)]
        return [_without(wanted, text) for text in texts]


def _without(secrets: Iterable[str], text: str) -> str:
    """Replace secrets in a text; those that overlap are replaced together, so that no rest of one stays."""
    # In 20,000 characters, 50 secrets take 0.16 ms and 500 take 1.6 ms. One pattern of alternatives takes 0.54 ms and
    # 20.6 ms; it is faster only where all secrets begin alike.
    places = sorted(place for secret in secrets if secret in text for place in _places(secret, text))
    if not places:
        return text
    parts, done = [], -1
    for start, end in places:
        if start >= done:
            parts += [text[max(done, 0) : start], REDACTED]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def _places(secret: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(secret)
    while start >= 0:
        yield start, start + len(secret)
        start = text.find(secret, start + 1)


def without_secrets(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give an environment for programs that a model starts: nothing in it is OneClaw's own, or a secret by its name.

    Args:
        environ: the environment; by default the program's own.

    Returns:
        A copy without OneClaw's variables, those whose names speak of a key, token, secret or password, those whose
        values are keys by their shape or URLs with a password, and those that repeat the value of one of these, or hold
        a secret that is remembered. Proxies stay: without them, programs reach nothing.
    """
    environ = os.environ if environ is None else environ
    hidden = {name for name, value in environ.items() if _is_own(name) or _is_secret(name, value)}
    secrets = {environ[name].strip() for name in hidden if not _is_own(name)} | _remembered.secrets
    return {
        name: value
        for name, value in environ.items()
        if name not in hidden and not any(_repeats(value, secret) for secret in secrets)
    }


def is_secret_name(name: str) -> bool:
    """Return True if a name speaks of a key, token, secret or password, such as ``api-key``."""
    return re.search(_TELLING_NAME, name.replace("-", "_"), re.IGNORECASE) is not None


def _is_own(name: str) -> bool:
    return name.upper().startswith(_OWN_PREFIX)


def _is_secret(name: str, value: str) -> bool:
    if re.search(_TELLING_NAME, name, re.IGNORECASE) or re.search(_TELLING_VALUE, value):
        return True
    if name.upper().endswith(_ENDS_LIKE_A_SECRET) and re.fullmatch(_LIKE_A_KEY, value):
        return True
    is_url = "://" in value and not name.upper().endswith("_PROXY")
    return is_url and re.search(_KEY_IN_URL, value, re.IGNORECASE) is not None


def _repeats(value: str, secret: str) -> bool:
    if len(secret) >= _SHORTEST_EMBEDDED_CHARACTERS and not secret.startswith(("/", "~")):
        return secret in value
    return len(secret) >= SHORTEST_SECRET_CHARACTERS and value.strip() == secret and not secret.startswith(("/", "~"))


def _secrets_in(environ: Mapping[str, str]) -> set[str]:
    variables = list(environ.items())  # decoded once
    found = {value.strip() for name, value in variables if name.upper().endswith(SECRET_SUFFIXES)}
    # A variable can have several keys.
    found.update(part.strip() for value in tuple(found) if "," in value for part in value.split(","))
    for _, value in variables:
        if "://" in value:
            found.update(_passwords_in(value))
    return found


def _passwords_in(url: str) -> set[str]:
    """The passwords in a URL, as they are written there and as they are meant."""
    from urllib.parse import unquote

    written = {match[1] or match[2] for match in re.finditer(_KEY_IN_URL, url, re.IGNORECASE)}
    return written | {unquote(each) for each in written}


async def redacted(call: _Call, run: Callable[[_Call], Awaitable[ToolResult]]) -> ToolResult:
    """Step: replace the secrets in the error of a call, which may quote a key that a service refused."""
    result = await run(call)
    if result.is_success:
        return result
    return type(result).error(*redact_all((str(result.error_type), str(result.error_message or ""))))


class SecretFilter(logging.Filter):
    """Redacts log records, tracebacks included; belongs on a handler, for a logger's filter misses its children."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record in place, and let it pass."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # The arguments do not fit the message, as can happen in a plugin; it is better logged than lost.
            message = f"{record.msg} {record.args!r}"
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True
