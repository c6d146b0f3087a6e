"""Describe errors of PostgreSQL and what to do about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg

from oneclaw_core import StoreError
from oneclaw_core.sessions import StoreUnavailableError
from oneclaw_postgres.address import SCHEMA, damaged

if TYPE_CHECKING:
    from oneclaw_core.sessions import StoreDamagedError

# See PostgreSQL's manual, appendix A, "PostgreSQL Error Codes".
_UNKNOWN_TABLE = frozenset({"42P01", "42703", "3F000"})
_LOST = frozenset({"57P01", "57P02", "57P05"})
_TRY_AGAIN = frozenset({"40001", "40P01"})
_USER = re.compile(r'\b(?:user|role) "[^"]*"')
# PgBouncer reports an exhausted pool with this text and the code of a protocol violation.
_NO_SESSION = "query_wait_timeout"
_CHECK_URL = "check ONECLAW_DATABASE_URL"
# Texts of libpq and of the server about certificates, which have no code.
_TLS_REMEDIES = (
    (
        "certificate verify failed",
        "has a certificate that is not trusted: check that it has not expired, and that sslrootcert in the URL names "
        "the certificate of the authority that issued it",
    ),
    (
        "does not match host name",
        "has a certificate for another host: name the host in the URL as the certificate does",
    ),
    (
        "does not support SSL",
        "has no TLS, which sslmode in the URL asks for: switch it on with ssl=on on the server",
    ),
    ("root certificate file", "cannot be verified: let sslrootcert in the URL name a file that can be read"),
    (
        "requires a valid client certificate",
        "asks for a certificate: name it and its key with sslcert and sslkey in the URL",
    ),
    ("alert unknown ca", "does not trust the certificate of sslcert: have it issued by an authority of the server"),
    (
        "certificate authentication failed",
        "refuses the certificate of sslcert for this user: its common name has to be the user's, or pg_ident.conf "
        "has to map it",
    ),
    ("no encryption", "refuses this user without TLS: put sslmode=verify-full into the URL, or correct the user"),
)
_REMEDIES = {
    "28P01": "refuses the user or the password: correct them in the URL, in PGPASSWORD or in ~/.pgpass",
    "28000": "refuses this user: correct the URL, or let the server accept the user in its pg_hba.conf",
    "3D000": "does not exist: have it made with CREATE DATABASE, or correct the URL",
    "42501": f"forbids this: let the user make the schema {SCHEMA!r} (GRANT CREATE ON DATABASE), and own its tables",
    "25006": "takes no changes: it is read-only or a standby; name the primary server in the URL",
    "53100": "has no space left, nothing was stored: free some on the server's disk",
    "53200": "has no memory left, nothing was stored: try again, or give the server more",
    "53300": "has no connection left: raise max_connections on the server or the size of a pool, or run fewer programs",
    "55P03": "is locked by another process: try again, or end the process that holds it",
    "57014": "took too long and was stopped, nothing was stored: try again, or raise statement_timeout in the URL",
    "57P03": "is starting up or shutting down: try again",
    "25P03": "ended a transaction that stood still, nothing was stored: try again",
}
# Of these, the state of a server that may end by itself.
_PASSING = frozenset({"53100", "53200", "53300", "55P03", "57014", "57P03", "25P03"})


def explain(error: BaseException | None, name: str) -> StoreError:
    """Describe an error in one line that says what to do.

    Args:
        error: as the driver raised it.
        name: of the database.
    """
    code = _code(error)
    if code in _UNKNOWN_TABLE:
        return damaged(name)
    if isinstance(error, psycopg.OperationalError) and not getattr(error, "sqlstate", None):
        for sign, remedy in _TLS_REMEDIES:
            if sign in str(error):
                return StoreError(f"the server of the database {name} {remedy} ({_reason(error)})")
    if code in _REMEDIES:
        kind = StoreUnavailableError if code in _PASSING else StoreError
        return kind(f"the database {name} {_REMEDIES[code]}")
    if code in _LOST or code.startswith("08") or _is_lost(error):
        return StoreUnavailableError(
            f"the connection to the database {name} was lost: see whether the server runs, and try again"
        )
    if code in _TRY_AGAIN:
        return StoreUnavailableError(f"the database {name} had too many changes at once, nothing was stored: try again")
    if code.startswith("XX"):
        return _broken(name, code)
    if code.startswith("22"):
        # Such messages repeat the values.
        return StoreError(f"the database {name} cannot hold what was to be stored (error {code}); nothing was stored")
    if not code and isinstance(error, psycopg.OperationalError):
        return StoreUnavailableError(
            f"the database {name} cannot be reached ({_reason(error)}): {_CHECK_URL} and the server"
        )
    return StoreError(f"the database {name} refused the operation ({_reason(error)}); nothing was stored")


def is_transient(error: BaseException | None) -> bool:
    """Return True if a transaction was rolled back only because of concurrent ones."""
    return _code(error) in _TRY_AGAIN


def _code(error: BaseException | None) -> str:
    """Return the SQLSTATE of an error, ``""`` for an error of the client library."""
    if _NO_SESSION in str(error):
        return "53300"
    return getattr(error, "sqlstate", None) or _connecting_code(error)


def _connecting_code(error: BaseException | None) -> str:
    """Return the SQLSTATE of an error while connecting, for which the client library gives only a text."""
    text = str(error)
    for sign, code in (
        ("password authentication failed", "28P01"),
        ("no password supplied", "28P01"),
        ("no pg_hba.conf entry", "28000"),
        ('" does not exist', "3D000" if 'database "' in text else "28000"),
        ("too many clients", "53300"),
        ("remaining connection slots", "53300"),
        ("the database system is", "57P03"),
    ):
        if sign in text:
            return code
    return ""


def _is_lost(error: BaseException | None) -> bool:
    text = str(error)
    return any(
        sign in text
        for sign in ("server closed the connection", "the connection is closed", "connection is lost", "SSL SYSCALL")
    )


def _reason(error: BaseException | None) -> str:
    """Return the first line of an error, without the user; it has no password and, unlike the details, no values."""
    diagnosis = getattr(error, "diag", None)
    text = getattr(diagnosis, "message_primary", None) or str(error).strip().partition("\n")[0]
    text = _USER.sub("this user", text)
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:300]


def _broken(name: str, code: str) -> StoreDamagedError | StoreError:
    if code in ("XX001", "XX002"):
        return damaged(name)
    return StoreError(f"the server of the database {name} failed (error {code}): look into its log")
