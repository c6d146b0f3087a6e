"""What is said about a server that cannot be used, where the client library gives nothing but a text."""

from __future__ import annotations

import psycopg
import pytest
from oneclaw_postgres.errors import explain

FAILED = 'connection failed: connection to server at "10.0.0.7", port 5432 failed: '


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # As libpq 18 with OpenSSL 3 and PostgreSQL 15 say it.
        ("SSL error: certificate verify failed", "not trusted: check that it has not expired, and that sslrootcert"),
        ('server certificate for "localhost" does not match host name "10.0.0.7"', "certificate for another host"),
        ("server does not support SSL, but SSL was required", "has no TLS, which sslmode in the URL asks for"),
        ('root certificate file "/ca.pem" does not exist', "let sslrootcert in the URL name a file that can be read"),
        ('could not read root certificate file "/ca.pem": no certificate or crl found', "let sslrootcert in the URL"),
        ("FATAL:  connection requires a valid client certificate", "with sslcert and sslkey in the URL"),
        ("SSL error: tlsv1 alert unknown ca", "does not trust the certificate of sslcert"),
        ('FATAL:  certificate authentication failed for user "clara"', "its common name has to be the user's"),
        (
            'FATAL:  pg_hba.conf rejects connection for host "10.0.0.7", user "clara", database "x", no encryption',
            "refuses this user without TLS",
        ),
        (
            'FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "clara", database "x", no encryption',
            "refuses this user without TLS",
        ),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "clara", database "x", SSL on', "refuses this user:"),
        ('FATAL:  role "clara" does not exist', "refuses this user:"),
        ("FATAL:  query_wait_timeout", "no connection left: raise max_connections on the server or the size of a pool"),
        ('FATAL:  database "x" does not exist', "CREATE DATABASE"),
    ],
)
def test_what_to_do_about_a_connection_that_was_refused(text: str, said: str) -> None:
    message = str(explain(psycopg.OperationalError(FAILED + text + "\nand another line"), "postgresql://10.0.0.7/x"))
    assert said in message
    assert "clara" not in message
    assert "\n" not in message
